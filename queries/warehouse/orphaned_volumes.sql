-- grain: one row per volume in a provider that is not registered, at a time, where all registered volumes are known
-- {{scope}}: empty, or `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro orphaned_volumes(at_time) as table
select held.*
from external_volumes_at(at_time) as held
semi join assessed_targets('orphaned-external-volume', ['external_volumes', 'volumes'], at_time) as assessed
  on assessed.target = held.target
anti join volumes_at(at_time) as volumes
  on volumes.target = held.target
  and volumes.external_id = held.external_id
  and coalesce(starts_with(held.plugin_id, volumes.plugin_id), true)
anti join (from volumes_at(at_time) where external_id is null) as unreported
  on unreported.target = held.target
  and coalesce(starts_with(held.plugin_id, unreported.plugin_id), true)
anti join (from unknown_parts_at(at_time) where source = 'external_volumes') as unknown
  on unknown.target = held.target and unknown.value is not distinct from held.plugin_id
-- a volume of a namespace that could not be read may be registered
anti join (from unknown_parts_at(at_time) where source = 'volumes') as hidden on hidden.target = held.target
where held.is_ambiguous is not true;
