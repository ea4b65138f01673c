-- rule: A key may be deleted.
-- severity: info
-- sources: keys, key_distributions
-- proves: complete listing of key_distributions
-- subject: key
-- many: keys may be deleted
-- repair: remove the keys
-- grain: one row per key with `deletion_allowed`, distributed or not; unknown where that is not reported
with
  distributed as (
    select target, key_name, list_sort(list(provider_name)) as providers
    from key_distributions
    group by target, key_name
  )
select
  keys.target,
  keys.name as subject_id,
  keys.name as subject_name,
  case
    when keys.deletion_allowed is null then 'whether it may be deleted is not reported'
    when distributed.providers is null then format('Key {} may be deleted and is not distributed', keys.name)
    else format('Key {} may be deleted and is distributed to {}', keys.name, array_to_string(distributed.providers, ', '))
  end as title,
  json_object(
    'key_name', keys.name,
    'type', keys.type,
    'latest_version', keys.latest_version,
    'providers', coalesce(distributed.providers, [])
  ) as detail,
  keys.deletion_allowed is null as unknown,
from keys
left join distributed on distributed.target = keys.target and distributed.key_name = keys.name
where keys.deletion_allowed is not false
