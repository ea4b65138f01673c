-- grain: one row per finding of mail_routes; news: `new`, `open` or `resolved` over the time that the digest tells of; null for
-- what is none of them: accepted, or long resolved
-- parameters: $as_of; $since: null at first, when everything is open and nothing news
create or replace temp table mail_findings as
with
  ranks as (select * from (values ('info', 1), ('warning', 2), ('critical', 3)) as levels (severity, rank)),
  lives as (
    select
      finding_id,
      arg_max(state, changed_at) filter (where changed_at <= $as_of::timestamptz) in ('new', 'open') as stands,
      arg_max(state, changed_at) filter (where changed_at <= $as_of::timestamptz) = 'resolved' as resolved,
      coalesce(arg_max(state, changed_at) filter (where changed_at <= $since::timestamptz), 'none') as state_before,
      coalesce(bool_or(reason = 'baseline') filter (where changed_at > $since::timestamptz), false) as baseline,
    from finding_events
    group by finding_id
  ),
  told as (
    select
      findings.*,
      ranks.rank,
      case
        when stands and (state_before in ('new', 'open') or baseline or $since::timestamptz is null) then 'open'
        when stands then 'new'
        when resolved and state_before in ('new', 'open', 'accepted') then 'resolved'
      end as news,
      state_before in ('new', 'open') as stood_before,
    from findings
    join lives using (finding_id)
    join ranks using (severity)
  )
select *
from told
where exists (
  from mail_routes as routes
  where
    routes.target = told.target
    and (
      routes.project is null
      or (told.detail->>'project_name') glob routes.project
      or (told.detail->>'project_id') glob routes.project
      or (
        told.subject_type = 'agent pool'
        and exists (from mail_pools where mail_pools.target = told.target and mail_pools.pool_id = told.subject_id)
      )
    )
);
