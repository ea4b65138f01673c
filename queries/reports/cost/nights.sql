-- grain: one row per night of the last year on which every target was pulled completely
-- title: Per night
-- labels: change=Since the night before; not_reported=Workspaces without a number; as_of=Night
select
  as_of,
  resources,
  case when date_diff('day', lag(as_of) over earlier, as_of) <= 1 then resources - lag(resources) over earlier end as change,
  workspaces,
  not_reported,
from resource_nights($as_of)
window earlier as (order by as_of)
order by as_of desc;
