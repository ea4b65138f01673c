-- rule: A leaf certificate was signed under a root that is no longer active, although a newer root is.
-- severity: warning
-- sources: leaf_certificates, ca_roots
-- subject: leaf certificate
-- many: services{of} keep a certificate of a root that is no longer active
-- repair: restart the service, which gets a certificate of the active root; ask who runs it
-- grain: one row per such leaf; unknown where it is not known whether its root is active
-- A service whose leaf is renewed gets one of the active root. One that keeps its leaf loses its peers when the old root goes.
with
  newest as (
    select target, max(not_before) as not_before
    from ca_roots
    where active
    group by target
  )
select
  target,
  service as subject_id,
  service as subject_name,
  case
    when active is null then 'it is not reported whether its root is active'
    else format('The leaf certificate of {} is signed under root {}, which is no longer active', service, coalesce(name, root_id))
  end as title,
  json_object(
    'service', service,
    'root_id', root_id,
    'serial', serial,
    'not_after', iso_time(certificates.not_after)
  ) as detail,
  'root ' || coalesce(name, root_id) as group_key,
  active is null as unknown,
from certificates
join ca_roots using (target, root_id)
join newest using (target)
where kind = 'leaf' and active is not true and newest.not_before > ca_roots.not_before
