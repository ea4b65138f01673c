-- grain: one row per finding of mail_routes; digest_state: `new`, `open`, `resolved` or `deleted` in the period of the digest; null for a
-- finding that is accepted or was, ended earlier, or is of what the configuration leaves out
-- parameters: $as_of; $since: null for the first digest, in which every current finding is open; $routes as routes.sql has it
-- No route has a target that the configuration has no more: what is no longer watched there is in the digest without a route.
create or replace temp table mail_findings as
with
  ranks as (select * from (values ('info', 1), ('warning', 2), ('critical', 3)) as levels (severity, rank)),
  compared as (
    select
      findings.* replace (states.severity as severity),
      ranks.rank,
      states.change,
      states.was_open,
      states.severity_before,
      case
        when states.is_open and states.change in ('new', 'returned', 'no longer accepted') and not states.is_baseline then 'new'
        when states.is_open then 'open'
        when states.was_open and states.change in ('resolved', 'deleted') then states.change
      end as digest_state,
    from findings
    join finding_states_at($as_of, $since) as states using (finding_id)
    join ranks on ranks.severity = states.severity
  )
select *
from compared
where
  exists (
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
  )
  or (compared.change = 'no longer watched' and json_contains($routes::json, '{"targets":null,"projects":null}'));
