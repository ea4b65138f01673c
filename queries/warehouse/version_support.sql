-- grain: one row per target and version in use of a tool or product, with what is known of its support
-- catalogue: yes
-- sources: workspaces, servers
-- identity: target, kind, name, version
--  target varchar -- name of the target in tidemark.yaml
--  kind varchar -- `tool` of workspaces, or `product` of a server
--  name varchar -- name of the tool or product
--  version varchar -- version; null where it is not known
--  used_by bigint -- workspaces or servers that use it
--  cycle varchar -- its line of releases in `lifecycle`; null where the facts do not cover the version
--  support_ends_at date -- when its support ends or ended; null where the day is not known
--  ends_with varchar -- the cycle whose release ends its support
--  latest varchar -- latest release of the cycle
--  data_as_of date -- day of the facts; where they do not cover the version, of the newest about its product
--  support varchar -- `ended`, `ends` on a day that is known, `not known yet`, or `unknown` where the facts do not cover the version
--  why varchar -- why it is unknown
-- defined: after the views
create or replace view version_support as
select *
from version_support_at((select max(as_of) from pulls));
