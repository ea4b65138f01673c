-- grain: as `changes`, with the action in the ledger that made the change: `plan_id` is null for what others did
-- {{actedBy}}: the last action that made the change `c`
create or replace view attributed_changes as
select * exclude (action), action.plan_id, action.action_id, action.approved_by
from (
  select c.*, {{actedBy}} as action
  from changes as c
) as attributed;
