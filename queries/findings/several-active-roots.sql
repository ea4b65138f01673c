-- rule: More than one CA root of a mesh is active.
-- severity: warning
-- sources: ca_roots
-- subject: CA root
-- many: CA roots are active beside a newer one
-- repair: end the rotation of the root; ask who runs the mesh
-- grain: one row per active root that is not the newest; unknown where it is not reported whether a root is active
-- One root signs at a time: two that do are two authorities, of which a service may know one.
with
  ranked as (
    select
      *,
      count(*) filter (active) over (partition by target) as active_roots,
      row_number() over (partition by target order by active desc nulls last, not_before desc nulls last, root_id) as place,
    from ca_roots
  )
select
  target,
  root_id as subject_id,
  name as subject_name,
  case
    when active is null then 'it is not reported whether it is active'
    else format('Root {} is active beside another one', coalesce(name, root_id))
  end as title,
  json_object('root_id', root_id, 'active_roots', active_roots, 'not_before', iso_time(not_before)) as detail,
  active is null as unknown,
from ranked
where active is null or (active and place > 1)
