-- Writes what an evaluation found; by name, for a warehouse that has gained columns holds them in another order.
merge into findings
using (select * exclude (change) from find_life) as life
on
  findings.rule = life.rule
  and findings.target = life.target
  and findings.subject_id = life.subject_id
when matched then update by name
when not matched then insert by name;
