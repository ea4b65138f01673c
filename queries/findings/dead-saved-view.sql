-- rule: The query of a saved view fails, or has returned no rows for `deadViewDays`.
-- severity: info
-- sources: saved_views, saved_view_rows
-- proves: complete listing of saved_view_rows
-- subject: saved view
-- many: saved views return nothing
-- repair: delete the views
-- grain: one row per such view; unknown where the query has no result
-- parameters: $as_of, $dead_view_days
-- Empty since: the end of its last result with rows, or the first result that Tidemark recorded.
with
  emptied as (
    select
      target,
      view_id,
      coalesce(
        max(coalesce(valid_to, 'infinity'::timestamptz)) filter (where result_rows > 0),
        min(valid_from)
      ) as empty_since,
    from saved_view_results_history
    group by target, view_id
  ),
  with_results as (
    select saved_views.*, results.status, results.result_rows, results.error, emptied.empty_since
    from saved_views
    left join saved_view_results as results
      on results.target = saved_views.target and results.view_id = saved_views.view_id
    left join emptied on emptied.target = saved_views.target and emptied.view_id = saved_views.view_id
  )
select
  target,
  view_id as subject_id,
  name as subject_name,
  case
    when status = 'failed' then format('The query of saved view {} fails', coalesce(name, view_id))
    when result_rows = 0 then format(
      'Saved view {} has returned no rows since {}',
      coalesce(name, view_id),
      strftime(empty_since, '%Y-%m-%d')
    )
    else 'its query has no result'
  end as title,
  json_object(
    'view_id', view_id,
    'reason', case when status = 'failed' then 'failed' else 'empty' end,
    'error', error,
    'empty_since', case when result_rows = 0 then iso_time(empty_since) end,
    'query_type', query_type,
    'created_at', iso_time(created_at)
  ) as detail,
  status is null or (status <> 'failed' and result_rows is null) as unknown,
from with_results
where
  status is null
  or result_rows is null
  or (result_rows = 0 and empty_since <= $as_of::timestamptz - to_seconds($dead_view_days * 86400))
