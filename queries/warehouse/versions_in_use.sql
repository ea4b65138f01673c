-- grain: one row per target and version in use of a tool, provider, module or product, with what the policy, the facts about its support and its registry say of it
-- catalogue: yes
-- sources: workspaces, providers, modules, registry_releases
--  target varchar -- name of the target in tidemark.yaml
--  kind varchar -- `tool`, `provider`, `module` or `product`
--  name varchar -- name of the tool or product, or the full source address of the provider or module
--  version varchar -- version
--  used_by bigint -- workspaces or servers that use it
--  verdict varchar -- `denied`, `below minimum`, `below recommended`, `allowed`; `unknown` where the version cannot be read; `not covered` by the policy
--  versions varchar -- the version or range of the policy that decides
--  severity varchar -- severity of its findings
--  reason varchar -- reason of the policy
--  link varchar -- link of the policy
--  ends_at timestamptz -- when the denial ends; null where it does not
--  recommended varchar -- the recommended version; null where there is none
--  support_ends_at date -- when the support of its cycle ends or ended; null where the day is not known, and for providers and modules
--  support_ended boolean -- whether that was; null where nothing is known of the cycle; false says nothing about the time after facts_as_of
--  ends_with varchar -- the cycle whose release ends its support; null where the day is known, or nothing is
--  facts_as_of date -- day of the facts about its support; null where nothing is known of its product
--  withdrawn boolean -- whether the registry lists it no longer; null where the registry was not asked for it
--  deprecated boolean -- whether the registry calls it deprecated
--  warning varchar -- warning of the registry
-- defined: after the views
create or replace view versions_in_use as
select *
from versions_in_use_at((select max(as_of) from pulls));
