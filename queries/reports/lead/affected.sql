-- grain: one row per project, job or service that open findings affect
-- title: Who is affected
-- about: Projects of the workspaces with open findings or with a pool that has some, jobs that claim the volumes, and services with certificates.
-- empty: No project, job or service is affected.
-- labels: name=Name; kind=Kind; workspaces=Workspaces; critical=Critical; warning=Warnings; info=Notes
-- subjects: name=$kind
with
  states as (
    select
      finding_id,
      arg_max(state, changed_at) as state,
      arg_max(severity, changed_at) as severity,
    from finding_events as events
    where
      changed_at <= $as_of::timestamptz
      and list_has_any(from_json($rules, '["VARCHAR"]'), [events.rule, 'all'])
    group by finding_id
  ),
  current_findings as (
    select
      finding_id,
      target,
      subject_type,
      subject_id,
      subject_name,
      states.severity,
    from findings
    join states using (finding_id)
    where states.state in ('new', 'open')
  ),
  named_workspaces as (select target, external_id, workspace_name, project_name from workspaces_at($as_of)),
  affected as (
    select found.target, 'project' as kind, project_name as name, external_id, finding_id, severity
    from current_findings as found
    join named_workspaces
      on named_workspaces.target = found.target and workspace_name = subject_name
    where subject_type = 'workspace'
    union all
    select found.target, 'project', project_name, external_id, finding_id, severity
    from current_findings as found
    join agent_pool_workspaces_at($as_of) as links
      on links.target = found.target and links.pool_id = found.subject_id and links.relation = 'attached'
    join named_workspaces
      on named_workspaces.target = links.target and external_id = links.workspace_id
    where subject_type = 'agent pool'
    union all
    select distinct found.target, 'job', job_id, null, finding_id, severity
    from current_findings as found
    join volume_allocations_at($as_of) as claims
      on claims.target = found.target and concat_ws('/', claims.namespace, claims.volume_id) = found.subject_id
    where subject_type = 'volume' and job_id is not null
    union all
    select target, 'service', subject_id, null, finding_id, severity
    from current_findings
    where subject_type = 'leaf certificate'
  )
select
  target,
  name,
  kind,
  nullif(count(distinct external_id), 0) as workspaces,
  count(distinct finding_id) filter (severity = 'critical') as critical,
  count(distinct finding_id) filter (severity = 'warning') as warning,
  count(distinct finding_id) filter (severity = 'info') as info,
from affected
group by target, kind, name
order by critical desc, warning desc, info desc, kind, name, target;
