-- Writes what an evaluation found.
merge into findings
using (select * exclude (change) from find_life) as life
on
  findings.rule = life.rule
  and findings.target = life.target
  and findings.subject_id = life.subject_id
when matched then update
when not matched then insert by name;
