-- rule: A leaf certificate was signed under a root that is no longer active, although a newer root is.
-- severity: warning
-- sources: leaf_certificates, ca_roots
-- subject: leaf certificate
-- many: services{of} keep a certificate of a root that is no longer active
-- repair: restart the service, which gets a certificate of the active root; ask who runs it
-- grain: one row per such leaf; unknown where it is not known whether its root is active, or which active root is newer
-- A service whose leaf is renewed gets one of the active root. One that keeps its leaf loses its peers when the old root goes.
with
  compared as (
    select own.target, own.root_id, other.active and other.not_before > own.not_before as is_newer,
    from ca_roots as own
    join ca_roots as other using (target)
  ),
  roots as (
    select target, root_id, bool_or(is_newer) as is_replaced, count(*) > count(is_newer) as is_unclear
    from compared
    group by target, root_id
  )
select
  target,
  service as subject_id,
  service as subject_name,
  case
    when active is null then 'it is not reported whether its root is active'
    when is_replaced is not true then 'it is not reported which root is active, and since when'
    else format('The leaf certificate of {} is signed under root {}, which is no longer active', service, coalesce(name, root_id))
  end as title,
  json_object(
    'service', service,
    'root_id', root_id,
    'serial', serial,
    'not_after', iso_time(certificates.not_after)
  ) as detail,
  'root ' || coalesce(name, root_id) as group_key,
  active is null or is_replaced is not true as unknown,
from certificates
join ca_roots using (target, root_id)
join roots using (target, root_id)
where kind = 'leaf' and active is not true and (is_replaced or is_unclear)
