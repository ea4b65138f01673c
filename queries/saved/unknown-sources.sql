-- title: What is unknown at the moment
-- description: Sources whose last pull was not complete, or only partial, with the age of the rows that the tables still show.
-- param: hours number = 36 - also sources whose last complete pull is older
with last_pulls as (
  select *
  from pulls
  where status <> 'left-out'
  qualify row_number() over (partition by target, source order by as_of desc) = 1
),
complete as (
  select target, source, max(as_of) as complete_at
  from pulls
  where status = 'complete'
  group by target, source
)
select
  last_pulls.target,
  last_pulls.source,
  last_pulls.status,
  complete.complete_at,
  date_diff('hour', complete.complete_at, (select max(as_of) from pulls)) as age_hours,
  if(last_pulls.status = 'partial', last_pulls.note, last_pulls.error) as error
from last_pulls
left join complete using (target, source)
where
  last_pulls.status <> 'complete'
  or complete.complete_at < (select max(as_of) from pulls) - to_seconds($hours::double * 3600)
order by complete.complete_at nulls first, last_pulls.target, last_pulls.source;
