-- grain: one row per part of a source that the last pull could not list
-- title: Not known
-- sources: external_volumes, volume_snapshots, volumes
-- about: What these have now is unknown. The tables show what an earlier pull found, and no rule judges it.
-- labels: source=Source; part=Part; name=Name; reason=Why
from unlisted_parts(['external_volumes', 'volume_snapshots', 'volumes'], $as_of)
order by source, target, part, name;
