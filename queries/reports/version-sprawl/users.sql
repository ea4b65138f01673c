-- grain: one row per workspace whose tool version the policy denies, or has below its minimum, or whose support has ended or ends within `supportDays`
-- title: Workspaces to move
-- about: The tool version of each should change. Those of their providers and modules are findings.
-- empty: The tool version of every workspace is permitted and supported, as far as that is known.
-- sources: lifecycle, workspaces
-- labels: state=State; workspace_name=Workspace; project_name=Project; name=Tool; version=Version; support_ends_at=Support ended or ends
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
with
  leave as (
    select
      *,
      case
        when verdict in ('denied', 'below minimum') then verdict
        when support_ended then 'ended'
        when support_ends_at <= $as_of::timestamptz + to_seconds($support_days * 86400) then 'ends soon'
      end as state,
    from versions_in_use_at($as_of)
    where kind = 'tool'
  )
select
  workspaces.target,
  leave.state,
  workspaces.workspace_name,
  workspaces.project_name,
  leave.name,
  leave.version,
  leave.support_ends_at,
  workspaces.external_id,
from workspaces_at($as_of) as workspaces
join leave on leave.target = workspaces.target and leave.version is not distinct from workspaces.workspace_iac_version
where leave.state is not null
order by
  list_position(['denied', 'below minimum', 'ended', 'ends soon'], leave.state),
  semver_key(leave.version),
  workspaces.project_name,
  workspaces.workspace_name,
  workspaces.target,
  workspaces.external_id;
