-- grain: one row: where the current rows of a source of a target come from, as a JSON object
select
  json_merge_patch(
    '{}',
    json_object('place', arg_max_null(origin ->> 'place', extracted_at), 'installation', arg_max(origin -> 'installation', extracted_at))
  )::varchar as origin,
from pulls
where target = $target and source = $source and status in ('complete', 'partial');
