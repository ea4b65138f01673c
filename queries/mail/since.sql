-- grain: one row: since when a digest tells what changed: the job's run before, else the latest complete pull before; null at first
-- parameters: $job, $as_of
select
  coalesce(
    (
      select max(started_at)
      from runs
      where job = $job and started_at < $as_of::timestamptz and status in ('complete', 'incomplete', 'failed')
    ),
    (select max(as_of) from pulls where as_of < $as_of::timestamptz and status = 'complete')
  ) as since;
