-- grain: one row per action in the table `actions`, in the order in which they were started
select plan_id, action_id, status
from actions
order by started_at, plan_id, action_id;
