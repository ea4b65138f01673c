-- grain: one row per module that is in use in more than one version
-- title: Modules in more than one version
-- sources: modules
-- about: "Used by" lists the first workspaces on the oldest version, by name.
-- empty: Every module is in use in one version.
-- labels: name=Module; source=Source; workspaces=Uses; on_oldest=On the oldest; held_by=Used by; versions_before=Versions before
from versions_spread('modules', $as_of)
order by versions desc, workspaces desc nulls last, name, source;
