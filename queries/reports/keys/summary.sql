-- grain: one row
-- title: Keys
-- order: 7
-- rules: key-rotation-overdue, old-key-version-enabled, retired-key, management-role, empty-kms-provider
-- unknown: age_unknown, versions_unknown, roles_unknown, unknown_parts
-- sources: key_distributions, keys, kms_providers, mesh_roles
-- about: Keys by their age since rotation and their enabled versions, the providers they are in, and roles that issue management tokens.
with
  comparable as (
    select coalesce(bool_and(previous_as_of is not null), false) as yes
    from source_state_at($as_of)
    where source in ('keys', 'mesh_roles') and as_of is not null
  ),
  -- what was never pulled has no number
  pulled as (select coalesce(list(distinct source), []) as pulled from source_state_at($as_of) where as_of is not null),
  held as (select distinct target, key_name from key_distributions_at($as_of)),
  key_counts as (
    select
      count(*) as keys,
      count_known(rotated_at < $as_of::timestamptz - to_seconds($key_rotation_days::double * 86400)) as overdue,
      count(*) filter (rotated_at is null) as age_unknown,
      count(*) filter (versions_enabled is null) as versions_unknown,
      if(count(*) = 0, 0, sum(versions_enabled)) as versions_enabled,
      count_known(versions_enabled > $key_versions_kept::bigint) as too_many_versions,
      count(*) filter (
        held.key_name is null
        and rotated.target in (from assessed_targets('retired-key', ['key_distributions', 'keys'], $as_of))
      ) as undistributed,
      count_known(deletion_allowed) as deletion_allowed,
      max(date_diff('hour', rotated_at, $as_of::timestamptz) // 24) as oldest_days,
    from rotated_keys($as_of) as rotated
    left join held on held.target = rotated.target and held.key_name = rotated.name
  ),
  before as (
    select
      keys.target,
      keys.name,
      keys.deletion_allowed,
      any_value(state.previous_as_of) as previous_as_of,
      arg_max_null(versions.creation_time, versions.version) as rotated_at,
    from keys_before($as_of) as keys
    join source_state_at($as_of) as state on state.target = keys.target and state.source = 'keys'
    left join key_versions_before($as_of) as versions
      on versions.target = keys.target
      and versions.key_name = keys.name
      and versions.version >= coalesce(keys.latest_version, 0)
    group by keys.target, keys.name, keys.deletion_allowed
  ),
  before_counts as (
    select
      count_known(rotated_at < previous_as_of - to_seconds($key_rotation_days::double * 86400)) as overdue,
      count_known(deletion_allowed) as deletion_allowed,
      (select count_known(issues_management(roles)) from mesh_roles_before($as_of) as roles) as management_roles,
    from before
  ),
  -- Few tables in one `from`: to order the joins of ten takes longer than to run the statement.
  provider_counts as (
    select
      (select count(*) from kms_providers_at($as_of)) as providers,
      (
        select if(
          exists (from assessed_targets('empty-kms-provider', ['key_distributions', 'kms_providers'], $as_of)),
          count(*),
          null
        )
        from kms_providers_at($as_of) as providers
        semi join assessed_targets('empty-kms-provider', ['key_distributions', 'kms_providers'], $as_of) as assessed
          on assessed.target = providers.target
        anti join key_distributions_at($as_of) as held
          on held.target = providers.target and held.provider_name = providers.name
        anti join (from unknown_parts_at($as_of) where source = 'key_distributions') as unknown
          on unknown.target = providers.target and unknown.value = providers.name
      ) as empty_providers,
  ),
  role_counts as (
    select
      count(*) as roles,
      count_known(issues_management(roles)) as management_roles,
      count(*) filter (issues_management(roles) is null) as roles_unknown,
    from mesh_roles_at($as_of) as roles
  ),
  counted as (
    select
      key_counts.* replace (
        if(
          exists (from assessed_targets('retired-key', ['key_distributions', 'keys'], $as_of)),
          key_counts.undistributed,
          null
        ) as undistributed
      ),
      provider_counts.*,
      role_counts.*,
      case when comparable.yes and 'keys' in pulled then before_counts.overdue end as overdue_before,
      case when comparable.yes and 'keys' in pulled then before_counts.deletion_allowed end as deletion_allowed_before,
      case when comparable.yes and 'mesh_roles' in pulled then before_counts.management_roles end as management_roles_before,
      not comparable.yes as baseline,
      (select count(*) from unknown_parts_at($as_of) where not is_unsupported and source in ('key_distributions', 'keys', 'kms_providers', 'mesh_roles')) as unknown_parts,
    from comparable
    cross join pulled
    cross join before_counts
    left join key_counts on 'keys' in pulled
    left join provider_counts on 'kms_providers' in pulled
    left join role_counts on 'mesh_roles' in pulled
  )
select
  *,
  concat_ws(
    '; ',
    case
      -- A target without key management has roles alone.
      when not exists (from source_state_at($as_of) where source = 'keys') then null
      when overdue is null then 'It is not known whether keys are overdue for rotation'
      else format('{:,} of {:,} {} {} overdue for rotation', overdue, keys, if(keys = 1, 'key', 'keys'), if(keys = 1 or overdue = 1, 'is', 'are'))
        || case age_unknown when 0 then '' else format(', of {:,} it is not known', age_unknown) end
    end,
    coalesce(
      format('{:,} {} management tokens', management_roles, if(management_roles = 1, 'role issues', 'roles issue')),
      'the roles for management tokens are not known'
    )
  )
  || case unknown_parts when 0 then '' when 1 then ', 1 part is not known' else format(', {:,} parts are not known', unknown_parts) end as headline,
from counted;
