-- grain: one row per part of a source that the last pull could not list
-- title: Not known
-- sources: external_volumes, volume_snapshots, volumes
-- about: What these have now is unknown. The tables show what an earlier pull found, and no rule judges it.
-- labels: source=Source; part=Part; name=Name; reason=Why
select
  target,
  source,
  replace(part, '_id', '') as part,
  coalesce(value, '(none)') as name,
  reason,
from unknown_parts_at($as_of)
where source in ('external_volumes', 'volume_snapshots', 'volumes')
order by source, target, part, name;
