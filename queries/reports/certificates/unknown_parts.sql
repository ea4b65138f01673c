-- grain: one row per part of a source that the last pull could not list
-- title: Not known
-- sources: ca_roots, leaf_certificates
-- about: What these have now is unknown. The tables show what an earlier pull found, and no rule judges it.
-- labels: source=Source; part=Part; name=Name; reason=Why
from unlisted_parts(['ca_roots', 'leaf_certificates'], $as_of)
order by source, target, part, name;
