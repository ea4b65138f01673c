-- rule: A registered volume does not exist in its storage provider, and nothing claims it.
-- severity: warning
-- sources: volumes, external_volumes
-- proves: complete listing of external_volumes
-- subject: volume
-- many: registered volumes{of} do not exist in the provider
-- repair: deregister the volumes
-- grain: one row per such volume; grouped by plugin; unknown where its plugin does not list its volumes, where another plugin may have it, or
-- where its claims are not counted
with
  claimed as (
    select distinct target, namespace, volume_id
    from volume_allocations
  ),
  unclaimed as (
    select volumes.*, current_readers + current_writers is null as may_be_claimed,
    from volumes
    left join claimed
      on claimed.target = volumes.target
      and claimed.namespace is not distinct from volumes.namespace
      and claimed.volume_id = volumes.volume_id
    where claimed.volume_id is null and coalesce(current_readers, 0) = 0 and coalesce(current_writers, 0) = 0
  ),
  missing as (
    select
      unclaimed.*,
      coalesce(listings.supported, false) and unclaimed.external_id is not null as is_listed,
      -- a plugin ID may be a prefix: the volume may be the one that another plugin lists
      exists (
        from external_volumes as other
        where
          other.target = unclaimed.target
          and other.external_id = unclaimed.external_id
          and coalesce(starts_with(other.plugin_id, unclaimed.plugin_id), true)
      ) as is_ambiguous,
    from unclaimed
    left join external_volume_listings as listings
      on listings.target = unclaimed.target and listings.plugin_id = unclaimed.plugin_id
    where not exists (
      from external_volumes as listed
      where
        listed.target = unclaimed.target
        and listed.plugin_id = unclaimed.plugin_id
        and listed.external_id = unclaimed.external_id
        and listed.is_ambiguous is not true
    )
  )
select
  target,
  concat_ws('/', namespace, volume_id) as subject_id,
  coalesce(name, volume_id) as subject_name,
  case
    when is_ambiguous then format('{} may be a volume of {} or of another plugin', external_id, coalesce(plugin_id, '?'))
    when not is_listed then format('plugin {} does not list its volumes', coalesce(plugin_id, '?'))
    when may_be_claimed then 'the service does not count its claims'
    else format(
      'Volume {} is registered, but plugin {} does not have {}',
      concat_ws('/', namespace, coalesce(name, volume_id)),
      plugin_id,
      external_id
    )
  end as title,
  json_object(
    'volume_id', volume_id,
    'namespace', namespace,
    'plugin_id', plugin_id,
    'external_id', external_id
  ) as detail,
  'plugin ' || plugin_id as group_key,
  not is_listed or is_ambiguous or may_be_claimed as unknown,
from missing
