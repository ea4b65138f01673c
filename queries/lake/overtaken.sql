-- grain: one row per target of a publish that readers do not see, if another writer has pulled it since: the publish is made of what
-- readers saw before that, and would bring back rows that have ended
-- {{publishes}}: those publishes; the view `lake_pulls`
with
  unseen as (
    select publish, target, max(as_of) as as_of
    from lake_pulls
    where publish in ({{publishes}})
    group by all
  ),
  seen as (
    from lake_pulls
    where publish in (select publish from lake_runs_changes)
  )
select distinct unseen.publish, unseen.target
from unseen
join seen on seen.target = unseen.target and seen.as_of > unseen.as_of
where seen.publish % 1024 <> unseen.publish % 1024
  and seen.publish // 1024 >= unseen.publish // 1024
order by all;
