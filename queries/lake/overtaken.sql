-- grain: one row per target of a publish that readers do not see, if another writer has pulled it since: the publish is made of what
-- readers saw before that, and would bring back rows that have ended. A pull that failed says nothing of rows. A later publish of the same
-- writer has all of it, so that nobody asks about it here.
-- {{publishes}}: those publishes; the view `lake_pulls`
with
  pulled as (
    select publish, target, max(as_of) as as_of
    from lake_pulls
    where status in ('complete', 'partial')
    group by all
  ),
  seen as (
    select publish, max(as_of) as as_of
    from lake_runs_changes
    group by all
  )
select distinct due.publish, due.target
from pulled as due
join pulled as other on other.target = due.target and other.as_of > due.as_of
where due.publish in ({{publishes}})
  and other.publish in (select publish from seen)
  and other.publish // 1024 >= due.publish // 1024
  -- a log may be published once more as a whole
  and due.as_of > coalesce((select max(as_of) from seen where seen.publish % 1024 = due.publish % 1024), '-infinity')
order by all;
