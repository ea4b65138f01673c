-- grain: one row per finding of mail_routes; digest_state: `new`, `open` or `resolved` in the period of the digest; null for a
-- finding that is accepted, was resolved earlier, or is of what the configuration leaves out
-- parameters: $as_of; $since: null for the first digest, in which every current finding is open
create or replace temp table mail_findings as
with
  ranks as (select * from (values ('info', 1), ('warning', 2), ('critical', 3)) as levels (severity, rank)),
  lives as (
    select
      finding_id,
      arg_max(state, changed_at) filter (where changed_at <= $as_of::timestamptz) in ('new', 'open') as is_current,
      arg_max(state, changed_at) filter (where changed_at <= $as_of::timestamptz) = 'resolved'
      and arg_max(reason, changed_at) filter (where changed_at <= $as_of::timestamptz) <> 'left out' as resolved,
      coalesce(arg_max(state, changed_at) filter (where changed_at <= $since::timestamptz), 'none') as state_before,
      coalesce(bool_or(reason = 'baseline') filter (where changed_at > $since::timestamptz), false) as baseline,
    from finding_events
    group by finding_id
  ),
  compared as (
    select
      findings.*,
      ranks.rank,
      case
        when is_current and (state_before in ('new', 'open') or baseline or $since::timestamptz is null) then 'open'
        when is_current then 'new'
        when resolved and state_before in ('new', 'open', 'accepted') then 'resolved'
      end as digest_state,
      state_before in ('new', 'open') as was_open,
    from findings
    join lives using (finding_id)
    join ranks using (severity)
  )
select *
from compared
where exists (
  from mail_routes as routes
  where
    routes.target = compared.target
    and (
      routes.project is null
      or (compared.detail->>'project_name') glob routes.project
      or (compared.detail->>'project_id') glob routes.project
      or (
        compared.subject_type = 'agent pool'
        and exists (from mail_pools where mail_pools.target = compared.target and mail_pools.pool_id = compared.subject_id)
      )
    )
);
