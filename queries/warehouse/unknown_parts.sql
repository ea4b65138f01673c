-- grain: one row per target, source and part that the last pull could not list, now
-- catalogue: yes
-- identity: target, source, part, value
--  target varchar -- name of the target in tidemark.yaml
--  source varchar -- source that could not list the part
--  part varchar -- column that names the part, such as `plugin_id`
--  value varchar -- value of that column; the rows with it are left as they were
--  reason varchar -- why it could not be listed
--  is_unsupported boolean -- whether the service says that it cannot list it at all, which is no failure
--  as_of timestamptz -- `as_of` of the pull
-- defined: before the views
create or replace view unknown_parts as
select *
from unknown_parts_at('infinity'::timestamptz);
