-- Adds the last run once more where no run has changed: a publish becomes visible by its rows of runs.
insert into lake_pending by name
select 'update' as op, {{now}} as as_of, {{values}}, 1 as occurrence
from {{stored}}
where started_at = (select max(started_at) from {{stored}}) and not exists (from lake_pending)
limit 1;
