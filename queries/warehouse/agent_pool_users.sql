-- What uses each agent pool beside its workspaces and agents: every relationship whose name does not match {{no_use}}. One that
-- Tidemark does not know is a user. {{scope}} as for semver_key.
create or replace {{scope}}macro agent_pool_users() as table
with
  related as (
    select target, pool_id, unnest(map_entries(from_json(relationships, '"MAP(VARCHAR, BIGINT)"'))) as entry
    from agent_pools
  )
select
  target,
  pool_id,
  coalesce(list(entry.key order by entry.key) filter (where entry.value > 0), []) as used_by,
  coalesce(list(entry.key order by entry.key) filter (where entry.value is null), []) as unreported,
from related
where not regexp_full_match(entry.key, {{no_use}})
group by target, pool_id;
