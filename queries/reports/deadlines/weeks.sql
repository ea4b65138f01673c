-- grain: one row per week from now on, and one for what is overdue
-- title: By week
-- labels: week=Week from; ends=What ends; deadlines=Number
-- strips: ends=squares
-- legend: bad=overdue or within 7 days; warn=within 30 days; info=later
with
  known as (
    select
      *,
      least(floor((epoch(ends_at) - epoch($as_of::timestamptz)) / (7 * 86400))::bigint, 13) as place,
    from deadlines_at($as_of)
    where ends_at <= $as_of::timestamptz + interval 90 days
  ),
  -- where nothing was ever pulled, no week is known to be empty
  weeks as (
    select unnest(range(-1, 13)) as place
    where exists (from known) or exists (
      from source_state_at($as_of)
      where as_of is not null and source in ('ca_roots', 'keys', 'leaf_certificates', 'servers', 'tokens', 'workspaces')
    )
  )
select
  if(place < 0, 'overdue', strftime(timezone('UTC', $as_of::timestamptz + to_days((place * 7)::integer)), '%Y-%m-%d')) as week,
  -- A row holds 60 squares; the number says how many there are.
  coalesce(
    arg_min(
      {
        'kind': case when place <= 0 then 'bad' when ends_at <= $as_of::timestamptz + interval 30 days then 'warn' else 'info' end,
        'value': 1,
        'text': format('{}: {} {}', strftime(timezone('UTC', ends_at), '%Y-%m-%d'), kind, subject_name)
      },
      (ends_at, kind, subject_name, target, subject_id),
      60
    ) filter (ends_at is not null),
    []
  ) as ends,
  count(ends_at) as deadlines,
from weeks
left join (select * replace (greatest(place, -1) as place) from known) as known using (place)
group by place
having place >= 0 or deadlines > 0
order by place;
