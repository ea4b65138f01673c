-- grain: one row
-- title: Next 90 days
-- order: 9
-- rules: ca-root-expiring, end-of-life-version, intermediate-expiring, key-rotation-overdue, leaf-expiring, product-end-of-life, token-expires
-- unknown: unknown_ends
-- sources: ca_roots, keys, leaf_certificates, lifecycle, servers, tokens, workspaces
-- about: What ends or is due within 90 days, of every kind in queries/deadlines. A leaf certificate that renews itself is shown once it should have been renewed.
with
  counted as (
    select
      count(*) filter (ends_at <= $as_of::timestamptz) as overdue,
      count(*) filter (ends_at > $as_of::timestamptz and ends_at <= $as_of::timestamptz + interval 7 days) as in_7_days,
      count(*) filter (ends_at > $as_of::timestamptz and ends_at <= $as_of::timestamptz + interval 30 days) as in_30_days,
      count(*) filter (ends_at > $as_of::timestamptz and ends_at <= $as_of::timestamptz + interval 90 days) as in_90_days,
      count(*) filter (ends_at is null) as unknown_ends,
    from deadlines_at($as_of)
  )
select
  *,
  format('{:,} {} within 90 days, {:,} of them within 7', in_90_days, if(in_90_days = 1, 'deadline', 'deadlines'), in_7_days)
  || case when overdue > 0 then format('; {:,} overdue', overdue) else '' end
  || case when unknown_ends > 0 then format('; of {:,} the end is not known', unknown_ends) else '' end as headline,
from counted;
