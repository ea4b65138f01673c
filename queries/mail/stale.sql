-- grain: one row per target whose sources have the same stale state
-- parameters: $as_of
select
  concat_ws(': ', target, string_agg(source, ', ' order by source)) as sources,
  status,
  as_of,
  epoch_ms($as_of::timestamptz) - epoch_ms(as_of) as age_ms,
  coalesce(first(error order by source) filter (error is not null), '') as error,
  count(distinct error) > 1 as has_more_errors,
from mail_sources
where stale
group by target, status, as_of
order by target, min(source), status;
