-- grain: one row per inactive root
-- title: Inactive roots
-- sources: ca_roots
-- about: Still trusted, but no longer used to sign, for example after a rotation. Leaf certificates that they signed remain valid until they expire.
-- empty: No root is known to be inactive.
-- labels: root_name=Root; not_after=Until; since=Inactive since
-- subjects: root_name=CA root:root_id
-- hidden: root_id
with
  changed as (
    select
      target,
      root_id,
      valid_from,
      active is distinct from lag(active) over (partition by target, root_id order by valid_from) as is_changed,
    from ca_roots_history
    where valid_from <= $as_of::timestamptz
  ),
  unchanged as (select target, root_id, max(valid_from) filter (is_changed) as since from changed group by target, root_id)
select
  roots.target,
  coalesce(roots.name, roots.root_id) as root_name,
  unchanged.since,
  roots.not_after,
  roots.root_id,
from ca_roots_at($as_of) as roots
left join unchanged on unchanged.target = roots.target and unchanged.root_id = roots.root_id
where not roots.active
order by roots.not_after, root_name, roots.target, roots.root_id;
