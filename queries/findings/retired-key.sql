-- rule: A key may be deleted.
-- severity: info
-- sources: keys, key_distributions
-- subject: key
-- grain: one row per key marked so, distributed or not; unknown where the mark is not told
with
  held as (
    select target, key_name, list(provider_name order by provider_name) as providers
    from key_distributions
    group by target, key_name
  )
select
  keys.target,
  keys.name as subject_id,
  keys.name as subject_name,
  case
    when keys.deletion_allowed is null then 'whether it may be deleted is not told'
    when held.providers is null then format('Key {} may be deleted, and no provider holds it', keys.name)
    else format('Key {} may be deleted, and is held by {}', keys.name, array_to_string(held.providers, ', '))
  end as title,
  json_object(
    'key_name', keys.name,
    'type', keys.type,
    'latest_version', keys.latest_version,
    'providers', coalesce(held.providers, [])
  ) as detail,
  keys.deletion_allowed is null as unknown,
from keys
left join held on held.target = keys.target and held.key_name = keys.name
where keys.deletion_allowed is not false
