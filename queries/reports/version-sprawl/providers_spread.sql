-- grain: one row per provider that is in use in more than one version
-- title: Providers in more than one version
-- sources: providers
-- about: "Used by" lists the first workspaces on the oldest version, by name.
-- empty: Every provider is in use in one version.
-- labels: name=Provider; source=Source; workspaces=Uses; on_oldest=On the oldest; held_by=Used by; versions_before=Versions before
from versions_spread('providers', $as_of)
order by versions desc, workspaces desc nulls last, name, source;
