-- grain: one row per time of $moments that is before the first pull, or before $start, since when the history is whole: of which nothing is known
select
  moment,
  first_pull,
from (
  select greatest(min(as_of) filter (status <> 'left-out'), $start::timestamptz) as first_pull
  from pulls
), unnest($moments::varchar[]) as times (moment)
where try_cast(moment as timestamptz) < first_pull
order by moment;
