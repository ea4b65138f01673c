-- grain: one row per version that the registry lists, or that is in use
-- Dates and warnings belong to what is listed: their address stops at 500 versions, and proves nothing about others.
with
  lines as (
    select source, kind, content, body
    from read_json($files, format = 'newline_delimited', records = true, columns = {source: 'VARCHAR', kind: 'VARCHAR', content: 'VARCHAR', body: 'JSON'}, maximum_object_size = $longest_line)
  ),
  listed as (
    select
      source,
      release ->> 'version' as version,
      release -> 'deprecation' as deprecation,
    from (
      select source, unnest(coalesce(body -> 'versions', body -> '$.modules[0].versions')::json[]) as release
      from lines
      where content = 'versions'
    )
  ),
  used as (
    select distinct source, unnest(body::varchar[]) as version
    from lines
    where content = 'used'
  ),
  dates as (
    select source, release ->> 'version' as version, max((release ->> 'published-at')::timestamptz) as published_at
    from (
      select source, unnest((body -> 'included')::json[]) -> 'attributes' as release
      from lines
      where content = 'dates'
    )
    group by all
  ),
  warnings as (
    select source, nullif(trim(body ->> '$.data.attributes.warning'), '') as warning
    from lines
    where content = 'dates'
  ),
  kinds as (select distinct source, kind from lines)
select
  source,
  version,
  dates.published_at,
  case
    when kind = 'module' and listed.source is not null then coalesce(listed.deprecation::varchar not in ('null', 'false'), false)
  end as deprecated,
  if(kind = 'provider', warnings.warning, nullif(trim(listed.deprecation ->> 'reason'), '')) as warning,
  listed.source is null as unlisted,
from listed
full join used using (source, version)
join kinds using (source)
left join dates using (source, version)
left join warnings using (source)
