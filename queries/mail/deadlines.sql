-- grain: one row per thing of mail_routes that ends within 14 days, the first to end first, the first $max_rows; total: how many there are
-- parameters: $as_of; $max_rows
-- A route with projects covers the acceptances of its findings.
select
  ends_at,
  concat(kind, ' ', coalesce(subject_name, subject_id), ' (', target, ')') as title,
  coalesce(what_to_do, '') as step,
  count(*) over () as total,
from deadlines_at($as_of) as deadlines
where
  kind <> 'plan' -- the mail has them already
  and ends_at > $as_of::timestamptz
  and ends_at <= $as_of::timestamptz + interval 14 days
  and (
    exists (from mail_routes where mail_routes.target = deadlines.target and mail_routes.project is null)
    or (kind = 'acceptance' and exists (from mail_findings where mail_findings.finding_id = deadlines.subject_id))
  )
order by ends_at, title
limit $max_rows;
