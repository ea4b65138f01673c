-- grain: one row per module and version in use
-- A row that does not tell its registry is public if the list of public modules names it, otherwise private.
-- {{rows}}: the rows of a CSV file; $files: pages of the list of public modules
with
  modules as (
    select null::varchar as name, null::varchar as source, null::varchar as version, null::varchar as registry_type where false
    union all by name
    ({{rows}})
  ),
  listed as (
    select unnest((body -> 'data')::json[]) -> 'attributes' as attributes
    from read_json($files, format = 'newline_delimited', records = true, columns = {body: 'JSON'}, maximum_object_size = $longest_line)
  ),
  public_modules as (
    select distinct
      nullif(attributes ->> 'name', '') as name,
      nullif(attributes ->> 'source', '') as source,
      nullif(attributes ->> 'version', '') as version,
      true as is_public,
    from listed
  )
select modules.* replace (coalesce(nullif(modules.registry_type, ''), if(is_public, 'public', 'private')) as registry_type)
from modules
left join public_modules
  on public_modules.name is not distinct from modules.name
  and public_modules.source is not distinct from modules.source
  and public_modules.version is not distinct from modules.version
