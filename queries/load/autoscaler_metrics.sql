-- grain: one row per kind, name and label set; columns that a kind does not have are null
with
  responses as (
    select
      from_json(
        body,
        '{"Timestamp": "VARCHAR", "Gauges": "JSON", "PrecisionGauges": "JSON", "Counters": "JSON", "Samples": "JSON", "Points": "JSON"}'
      ) as body,
    from read_json($files, format = 'newline_delimited', records = true, columns = {body: 'JSON'}, maximum_object_size = $longest_line)
  ),
  items as (
    select unnest(['gauge', 'gauge', 'counter', 'sample', 'point']) as kind,
      try(read_time(body."Timestamp")) as measured_at,
      unnest([body."Gauges", body."PrecisionGauges", body."Counters", body."Samples", body."Points"]) as list,
    from responses
  ),
  metrics as (select kind, measured_at, unnest(list::json[]) as item from items where json_type(list) = 'ARRAY'),
  named as (
    select
      kind,
      measured_at,
      item,
      item ->> 'Name' as name,
      nullif(nullif((item -> 'Labels')::varchar, 'null'), '{}') as labels,
      -- an integer beyond 2^53 keeps its digits in `extra`
      regexp_full_match(item ->> 'Value', '-?\d{16,38}')
        and try_cast(item ->> 'Value' as hugeint) is distinct from try_cast(try_cast(item ->> 'Value' as double) as hugeint) as rounded,
    from metrics
  )
select distinct on (kind, name, labels)
  kind,
  name,
  labels::json as labels,
  try_cast(item ->> 'Value' as double) as value,
  try_cast(item ->> 'Count' as bigint) as count,
  try_cast(item ->> 'Sum' as double) as sum,
  try_cast(item ->> 'Min' as double) as min,
  try_cast(item ->> 'Max' as double) as max,
  try_cast(item ->> 'Mean' as double) as mean,
  try_cast(item ->> 'Stddev' as double) as stddev,
  try_cast(item ->> 'Rate' as double) as rate,
  measured_at,
  json_merge_patch(
    item,
    case
      when rounded
        then '{"Name": null, "Labels": null, "Count": null, "Sum": null, "Min": null, "Max": null, "Mean": null, "Stddev": null, "Rate": null}'
      else '{"Name": null, "Labels": null, "Value": null, "Count": null, "Sum": null, "Min": null, "Max": null, "Mean": null, "Stddev": null, "Rate": null}'
    end
  ) as extra,
from named
