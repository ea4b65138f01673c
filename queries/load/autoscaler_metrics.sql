-- grain: one row per kind, name and label set; columns that a kind does not have are null
with
  responses as (
    select body
    from read_json($files, format = 'newline_delimited', records = true, columns = {body: 'JSON'}, maximum_object_size = $longest_line)
  ),
  items as (
    select unnest(['gauge', 'gauge', 'counter', 'sample', 'point']) as kind,
      -- the real product writes `2006-01-02 15:04:05 +0000 UTC`
      try_cast(regexp_replace(body ->> 'Timestamp', ' ?([+-]\d\d)(\d\d) \w+$', '\1:\2') as timestamptz) as measured_at,
      unnest([body -> 'Gauges', body -> 'PrecisionGauges', body -> 'Counters', body -> 'Samples', body -> 'Points']) as list,
    from responses
  ),
  metrics as (select kind, measured_at, unnest(list::json[]) as item from items where json_type(list) = 'ARRAY'),
  named as (
    select
      kind,
      measured_at,
      item,
      item ->> 'Name' as name,
      nullif((item -> 'Labels')::varchar, 'null') as labels,
      -- an integer beyond 2^53 keeps its digits in `extra`
      regexp_full_match(item ->> 'Value', '-?\d{16,38}')
        and try_cast(item ->> 'Value' as hugeint) is distinct from try_cast((item ->> 'Value')::double as hugeint) as rounded,
    from metrics
  )
select distinct on (kind, name, labels)
  kind,
  name,
  labels::json as labels,
  (item ->> 'Value')::double as value,
  (item ->> 'Count')::bigint as count,
  (item ->> 'Sum')::double as sum,
  (item ->> 'Min')::double as min,
  (item ->> 'Max')::double as max,
  (item ->> 'Mean')::double as mean,
  (item ->> 'Stddev')::double as stddev,
  (item ->> 'Rate')::double as rate,
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
