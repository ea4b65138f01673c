-- Writes the result of an evaluation; by name, since columns added by a migration come last.
merge into findings
using (select * exclude (change) from transition) as evaluated
on
  findings.rule = evaluated.rule
  and findings.target = evaluated.target
  and findings.subject_id = evaluated.subject_id
when matched then update by name
when not matched then insert by name;
