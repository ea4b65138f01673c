-- grain: one row per part of a source that the last pull could not list
-- title: Not known
-- sources: ca_roots, leaf_certificates
-- about: What these have now is unknown. The tables show what an earlier pull found, and no rule judges it.
-- labels: source=Source; part=Part; name=Name; reason=Why
select
  target,
  source,
  replace(part, '_id', '') as part,
  coalesce(value, '(none)') as name,
  reason,
from unknown_parts_at($as_of)
where source in ('ca_roots', 'leaf_certificates')
order by source, target, part, name;
