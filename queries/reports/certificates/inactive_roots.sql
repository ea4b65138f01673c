-- grain: one row per root that does not sign
-- title: Inactive roots
-- sources: ca_roots
-- about: Trusted still, but signing nothing: left from a rotation. Leaves that they signed remain valid until they end.
-- empty: Every root is active.
-- labels: root_name=Root; not_after=Until; since=Inactive since
-- hidden: root_id
with
  changed as (
    select
      target,
      root_id,
      valid_from,
      active is distinct from lag(active) over (partition by target, root_id order by valid_from) as turned,
    from ca_roots_history
    where valid_from <= $as_of::timestamptz
  ),
  standing as (select target, root_id, max(valid_from) filter (turned) as since from changed group by target, root_id)
select
  roots.target,
  coalesce(roots.name, roots.root_id) as root_name,
  standing.since,
  roots.not_after,
  roots.root_id,
from ca_roots_at($as_of) as roots
left join standing on standing.target = roots.target and standing.root_id = roots.root_id
where not roots.active
order by roots.not_after, root_name, roots.target, roots.root_id;
