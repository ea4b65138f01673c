-- grain: one row per part of a source that the last pull could not list
-- title: Not known
-- sources: key_distributions, keys, kms_providers, mesh_roles
-- about: What these have now is unknown. The tables show what an earlier pull found, and no rule judges it.
-- labels: source=Source; part=Part; name=Name; reason=Why
from unlisted_parts(['key_distributions', 'keys', 'kms_providers', 'mesh_roles'], $as_of)
order by source, target, part, name;
