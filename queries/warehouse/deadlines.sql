-- grain: one row per thing that ends, as of the last pull
-- catalogue: yes
-- identity: target, kind, subject_id
-- name: subject_name
--  target varchar -- name of the target in tidemark.yaml
--  kind varchar -- kind of thing, such as `certificate`
--  subject_id varchar -- its ID
--  subject_name varchar -- its name
--  ends_at timestamptz -- when it ends; null where that is not known
--  what_to_do varchar -- the next step
create or replace view deadlines as
select *
from deadlines_at((select max(as_of) from pulls));
