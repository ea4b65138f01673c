-- grain: one row: the start of the period that a digest covers: the previous run of the job, otherwise the previous complete pull; null where there is none
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
