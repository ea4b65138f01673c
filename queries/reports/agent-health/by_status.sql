-- grain: one row per status
-- title: By status
-- sources: agents
-- about: "Before" is the previous complete pull of the same target.
-- labels: status=Status; agents_before=Before; share_percent=Share
with
  now as (select coalesce(status, 'no status') as status, count(*) as agents from agents_at($as_of) group by 1),
  before as (select coalesce(status, 'no status') as status, count(*) as agents from agents_before($as_of) group by 1),
  comparable as (
    select coalesce(bool_and(previous_as_of is not null), false) as yes
    from source_state_at($as_of)
    where source = 'agents' and as_of is not null
  )
select
  status,
  coalesce(now.agents, 0) as agents,
  case when comparable.yes then coalesce(before.agents, 0) end as agents_before,
  case when comparable.yes then coalesce(now.agents, 0) - coalesce(before.agents, 0) end as change,
  round(100.0 * coalesce(now.agents, 0) / nullif(sum(now.agents) over (), 0), 1) as share_percent,
from now
full join before using (status)
cross join comparable
order by agents desc, status;
