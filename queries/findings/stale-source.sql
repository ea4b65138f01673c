-- rule: A source has not been pulled completely for `staleHours`, or never.
-- severity: warning
-- sources: none
-- subject: source
-- many: sources{of} are stale
-- repair: repair the error of the last pull, which tidemark status shows
-- grain: one row per stale target and source; grouped by target, because the sources of a target often fail together
-- parameters: $as_of, $stale_hours, $targets (the configured ones; null for all)
select
  target,
  source as subject_id,
  source as subject_name,
  case
    when complete_at is null then format('{} of {} has never been pulled completely', source, target)
    else format('{} of {} has not been pulled completely since {}', source, target, strftime(complete_at, '%Y-%m-%d %H:%M UTC'))
  end as title,
  json_object(
    'source', source,
    'as_of', iso_time(complete_at),
    'tried_at', iso_time(tried_at),
    'status', status,
    'error', error
  ) as detail,
  target as group_key,
from source_state
where
  status <> 'unsupported'
  and ($targets::varchar[] is null or list_contains($targets::varchar[], target))
  and (complete_at is null or complete_at < $as_of::timestamptz - to_seconds($stale_hours * 3600))
