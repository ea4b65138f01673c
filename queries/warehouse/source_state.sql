-- grain: one row per target and source that was ever pulled, now
-- catalogue: yes
-- identity: target, source
--  target varchar -- name of the target in tidemark.yaml
--  source varchar -- source; has the name of its main table
--  status varchar -- of the last pull: `complete`, `partial`, `failed` or `quarantined`; `unsupported` where the service cannot answer it
--  tried_at timestamptz -- `as_of` of the last pull
--  error varchar -- why the last pull is not complete; null when it is
--  as_of timestamptz -- the time that the rows are of: of the last pull that was loaded, complete or partial
--  complete_at timestamptz -- `as_of` of the last complete pull
--  previous_as_of timestamptz -- `as_of` of the pull that was loaded and reported before that; null where the last pull was not loaded: nothing is known of what changed
--  unknown_columns json -- columns that the service does not tell, each with the reason: null in every row, and unknown; null where it tells all
-- defined: before the views
create or replace view source_state as
select *
from source_state_at('infinity'::timestamptz);
