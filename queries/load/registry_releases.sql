-- grain: one row per version that the registry lists, or that is in use
-- Dates and warnings belong to what is listed: their address stops at 500 versions, and proves nothing about others.
-- Versions are the same as semantic versions are: `v5.0.0`, `5.0.0+build` and `5.0.0`. A text that is no version, such as a constraint, is in
-- no list, which proves nothing.
with
  lines as (
    select source, kind, content, body
    from read_json($files, format = 'newline_delimited', records = true, columns = {source: 'VARCHAR', kind: 'VARCHAR', content: 'VARCHAR', body: 'JSON'}, maximum_object_size = $longest_line)
  ),
  listed as (
    select
      source,
      coalesce(semver_key(release ->> 'version'), release ->> 'version') as key,
      min(release ->> 'version') as version,
      min(nullif((release -> 'deprecation')::varchar, 'null'))::json as deprecation,
    from (
      select source, unnest(coalesce(body -> 'versions', body -> '$.modules[0].versions')::json[]) as release
      from lines
      where content = 'versions'
    )
    group by all
  ),
  used as (
    select source, version, coalesce(semver_key(version), version) as key
    from (select distinct source, unnest(body::varchar[]) as version from lines where content = 'used')
  ),
  dates as (
    select
      source,
      coalesce(semver_key(release ->> 'version'), release ->> 'version') as key,
      max(read_time(release ->> 'published-at')) as published_at,
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
  coalesce(used.version, listed.version) as version,
  dates.published_at,
  case
    when kind = 'module' and listed.source is not null then coalesce(listed.deprecation::varchar <> 'false', false)
  end as deprecated,
  if(kind = 'provider', warnings.warning, nullif(trim(listed.deprecation ->> 'reason'), '')) as warning,
  case when listed.source is not null then false when semver_key(used.version) is not null then true end as unlisted,
from listed
full join used using (source, key)
join kinds using (source)
left join dates using (source, key)
left join warnings using (source)
