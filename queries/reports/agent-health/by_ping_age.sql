-- grain: one row per age of the last ping
-- title: By age of the last ping
-- sources: agents
-- labels: last_ping=Last ping
-- hidden: place
with
  aged as (
    select epoch($as_of::timestamptz - last_ping_at) / 60 as minutes from agents_at($as_of)
  ),
  ages as (
    select
      case
        when minutes is null then 6
        when minutes <= -24 * 60 then 7
        when minutes <= $agent_silent_minutes::double then 1
        when minutes <= 60 then 2
        when minutes <= 24 * 60 then 3
        when minutes <= 7 * 24 * 60 then 4
        else 5
      end as place,
    from aged
  )
select
  case place
    when 1 then 'within the allowed minutes'
    when 2 then 'within an hour'
    when 3 then 'within a day'
    when 4 then 'within a week'
    when 5 then 'longer ago'
    when 7 then 'in the future, not known'
    else 'never'
  end as last_ping,
  count(*) as agents,
  place,
from ages
group by place
order by place;
