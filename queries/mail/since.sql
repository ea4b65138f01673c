-- grain: one row: the start of the period that a digest covers: the last run of the job that was not interrupted, otherwise the last
-- complete pull that is not of an interrupted run; null where there is none
-- parameters: $job, $as_of
select
  coalesce(
    (
      select max(started_at)
      from runs
      where job = $job and started_at < $as_of::timestamptz and status in ('complete', 'incomplete', 'failed')
    ),
    (
      select max(as_of)
      from pulls
      left join interrupted_runs as interrupted on interrupted.started_at = pulls.as_of
      where
        as_of < $as_of::timestamptz
        and status = 'complete'
        and (interrupted.started_at is null or interrupted.reported_at < $as_of::timestamptz)
    )
  ) as since;
