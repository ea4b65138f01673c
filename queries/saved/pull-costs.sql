-- title: What the pulls cost
-- description: Requests, waits and bytes of each source over the last days, the most expensive first.
-- param: days integer = 14 - days up to the last pull
select
  target,
  source,
  count(*) as pulls,
  count(*) filter (where status = 'complete') as complete,
  sum(requests) as requests,
  sum(reused) as reused,
  sum(throttled) as throttled,
  round(sum(throttle_wait_ms) / 1000, 1) as waited_seconds,
  sum(bytes) as bytes,
  round(avg(date_diff('millisecond', started_at, finished_at)) / 1000, 1) as average_seconds
from pulls
where status not in ('left-out', 'unsupported') and as_of >= (select max(as_of) from pulls) - to_days($days::integer)
group by target, source
order by requests desc nulls last, target, source;
