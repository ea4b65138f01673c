-- title: What is unknown at the moment
-- description: Sources whose last pull was not complete, or only partial, with the age of the rows that the tables still show.
-- param: hours number = 36 - also sources whose last complete pull is older
select
  target,
  source,
  status,
  complete_at,
  date_diff('hour', complete_at, (select max(as_of) from pulls)) as age_hours,
  error
from source_state
where
  status <> 'complete'
  or complete_at < (select max(as_of) from pulls) - to_seconds($hours::double * 3600)
order by complete_at nulls first, target, source;
