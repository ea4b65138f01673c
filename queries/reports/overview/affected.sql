-- grain: one row per project, job or service that open findings affect
-- title: Who is affected
-- about: Projects of the workspaces with open findings or with a pool that has some, jobs that claim the volumes, and services with certificates.
-- empty: Nobody is known to be affected.
-- labels: name=Name; kind=Kind; workspaces=Workspaces with findings; findings=Findings
-- hidden: critical, warning, info
-- subjects: name=$kind
with
  current_findings as (
    select
      finding_id,
      target,
      subject_type,
      subject_id,
      subject_name,
      states.severity,
    from findings
    join finding_states_at($as_of, null) as states using (finding_id)
    where states.is_open and list_has_any(from_json($rules, '["VARCHAR"]'), [findings.rule, 'all'])
  ),
  named_workspaces as (
    select target, external_id, workspace_name, project_name, count(*) over (partition by target, project_name) as in_project
    from workspaces_at($as_of)
  ),
  affected as (
    select found.target, 'project' as kind, project_name as name, external_id, in_project, finding_id, severity
    from current_findings as found
    join named_workspaces
      on named_workspaces.target = found.target and workspace_name = subject_name
    where subject_type = 'workspace'
    union all
    select found.target, 'project', project_name, external_id, in_project, finding_id, severity
    from current_findings as found
    join agent_pool_workspaces_at($as_of) as links
      on links.target = found.target and links.pool_id = found.subject_id and links.relation = 'attached'
    join named_workspaces
      on named_workspaces.target = links.target and external_id = links.workspace_id
    where subject_type = 'agent pool'
    union all
    select distinct found.target, 'job', job_id, null, null, finding_id, severity
    from current_findings as found
    join volume_allocations_at($as_of) as claims
      on claims.target = found.target and concat_ws('/', claims.namespace, claims.volume_id) = found.subject_id
    where subject_type = 'volume' and job_id is not null
    union all
    select target, 'service', subject_id, null, null, finding_id, severity
    from current_findings
    where subject_type = 'leaf certificate'
  ),
  -- grouped twice: DuckDB keeps in memory what it counts as distinct
  counted as (
    select
      target,
      kind,
      name,
      count(*) filter (severity = 'critical') as critical,
      count(*) filter (severity = 'warning') as warning,
      count(*) filter (severity = 'info') as info,
    from (select distinct target, kind, name, finding_id, severity from affected)
    group by target, kind, name
  ),
  projects as (
    select target, kind, name, format('{:,} of {:,}', count(*), any_value(in_project)) as workspaces
    from (select distinct target, kind, name, external_id, in_project from affected where kind = 'project')
    group by target, kind, name
  )
select
  counted.target,
  counted.name,
  counted.kind,
  workspaces,
  critical,
  warning,
  info,
  concat_ws(
    ', ',
    nullif(format('{:,} critical', critical), '0 critical'),
    case warning when 0 then null when 1 then '1 warning' else format('{:,} warnings', warning) end,
    nullif(format('{:,} info', info), '0 info')
  ) as findings,
from counted
left join projects
  on projects.target = counted.target and projects.kind = counted.kind and projects.name is not distinct from counted.name
order by critical desc, warning desc, info desc, counted.kind, counted.name, counted.target;
