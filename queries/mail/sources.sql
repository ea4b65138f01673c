-- grain: one row per target and source of mail_routes, and one per target that was never pulled. `lifecycle` is no
-- source: it has a row for each target of whose versions the facts are old
-- parameters: $as_of; $since; $stale_hours; $lifecycle_days
-- A route with projects covers the sources of workspaces and pools, not the rest of the platform.
create or replace temp table mail_sources as
with
  mine as (select target, bool_or(project is null) as is_whole_target from mail_routes group by target),
  before as (select target, source, status from source_state_at($since))
select
  mine.target,
  state.source,
  coalesce(state.status, 'never pulled') as status,
  state.as_of,
  state.error,
  coalesce(
    state.status <> 'complete' or state.as_of < $as_of::timestamptz - to_seconds($stale_hours::double * 3600),
    true
  ) as stale,
  before.status is distinct from state.status as changed,
from mine
left join source_state_at($as_of) as state
  on state.target = mine.target
  and state.status <> 'unsupported'
  and (mine.is_whole_target or state.source in ('workspaces', 'tf_versions', 'agent_pools', 'agents'))
left join before on before.target = state.target and before.source = state.source
-- what is left out was pulled
where state.target is not null or mine.target not in (select target from pulls where status = 'left-out' and as_of <= $as_of::timestamptz)
union all
select
  target,
  'lifecycle',
  'old',
  min(data_as_of)::timestamptz,
  'tidemark lifecycle import FILE takes newer facts',
  true,
  false,
from version_support_at($as_of)
semi join mine using (target)
where data_as_of < ($as_of::timestamptz - to_seconds($lifecycle_days::double * 86400))::date
group by target;
