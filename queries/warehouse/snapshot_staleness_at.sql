-- grain: one row per snapshot of a storage plugin at a time, with what makes it stale
-- {{scope}}: empty, or `temp ` for one connection
-- is_known: its plugin was listed, and it certainly belongs to that plugin
-- is_volume_missing: where all that may have its volume is known, nothing has it; null where that is not known
-- is_unknown: whether it is stale cannot be said, as the rule `stale-snapshot` has it; false for a plugin that was not listed, which is an unknown part
-- defined: after the views, and where it is missing
create or replace {{scope}}macro snapshot_staleness_at(at_time, stale_days) as table
select
  *,
  is_listed
  and (old or is_volume_missing) is not false
  and ((old or is_volume_missing) is null or is_ambiguous is true) as is_unknown,
from (
  select
    taken.*,
    unknown.target is null and taken.is_ambiguous is not true as is_known,
    taken.created_at < at_time::timestamptz - to_seconds(stale_days::double * 86400) as old,
    case
      when registered.external_id is not null then false
      when exists (
        from external_volumes_at(at_time) as held
        where
          held.target = taken.target
          and held.external_id = taken.external_source_volume_id
          and coalesce(starts_with(held.plugin_id, taken.plugin_id), true)
      ) then false
      when listing.supported and assessed.target is not null and hidden.target is null and taken.external_source_volume_id is not null then true
    end as is_volume_missing,
    unknown.target is null as is_listed,
  from volume_snapshots_at(at_time) as taken
  left join (select distinct target, plugin_id, external_id from volumes_at(at_time)) as registered
    on registered.target = taken.target
    and registered.plugin_id = taken.plugin_id
    and registered.external_id = taken.external_source_volume_id
  left join external_volume_listings_at(at_time) as listing
    on listing.target = taken.target and listing.plugin_id = taken.plugin_id
  left join assessed_targets('stale-snapshot', ['external_volumes', 'volume_snapshots', 'volumes'], at_time) as assessed
    on assessed.target = taken.target
  -- a volume of a namespace that could not be read may be registered
  left join (select distinct target from unknown_parts_at(at_time) where source = 'volumes') as hidden
    on hidden.target = taken.target
  left join (from unknown_parts_at(at_time) where source = 'volume_snapshots') as unknown
    on unknown.target = taken.target and unknown.value is not distinct from taken.plugin_id
);
