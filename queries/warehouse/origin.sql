-- grain: one row: where the current rows of a source of a target come from, as a JSON object; unrecorded_at: when they were extracted, if an
-- earlier build has loaded them, which did not record it
select
  json_merge_patch(
    '{}',
    json_object('place', arg_max_null(origin ->> 'place', extracted_at), 'installation', arg_max(origin -> 'installation', extracted_at))
  )::varchar as origin,
  if(arg_max_null(origin, extracted_at) is null, max(extracted_at), null) as unrecorded_at,
from pulls
where target = $target and source = $source and status in ('complete', 'partial');
