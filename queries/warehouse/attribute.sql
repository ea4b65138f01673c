-- Changes with the action in the ledger that made each: `plan_id` is null for what others did.
-- {{changes}}: a relation with the rows of `changes`; {{actedBy}}: the last action that made the change `c`
select * exclude (action), action.plan_id, action.action_id, action.approved_by
from (
  select c.*, {{actedBy}} as action
  from {{changes}} as c
) as attributed
