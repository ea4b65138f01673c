-- grain: one line of the ledger per action, in the order in which they were started
select entry::varchar as entry -- as text, a number keeps all its digits
from actions
order by started_at, plan_id, action_id;
