-- grain: one row per project
-- title: By project
-- labels: project_name=Project; states=Workspaces; failing_of=Failing; checks_failed=Failed checks
-- strips: states=bar
-- legend: bad=failing; warn=errored or not assessed; good=passing; soft=without checks
-- links: failing_of=failing
-- subjects: project_name=project:project_external_id
-- hidden: project_external_id, workspaces, failing, errored, not_assessed, without_checks
with
  judged as (
    select
      now.*,
      changes.is_failing,
      case
        when changes.is_failing then 'failing'
        when now.checks_errored > 0 then 'errored'
        when now.checks_unknown > 0 or now.checks_failed is null then 'unknown'
        when now.checks_passed > 0 then 'passing'
        else 'none'
      end as judgement,
    from workspaces_at($as_of) as now
    join workspace_changes($as_of, null) as changes using (target, external_id)
  )
select
  target,
  project_name,
  count(*) as workspaces,
  count(*) filter (judgement = 'failing') as failing,
  count(*) filter (checks_errored > 0) as errored,
  count(*) filter (checks_unknown > 0 or checks_failed is null) as not_assessed,
  count(*) filter (judgement = 'none') as without_checks,
  list_filter(
    [
      {'kind': 'bad', 'value': failing, 'text': format('{:,} failing', failing)},
      {
        'kind': 'warn',
        'value': count(*) filter (judgement in ('errored', 'unknown')),
        'text': concat_ws(
          ', ',
          nullif(format('{:,} errored', count(*) filter (judgement = 'errored')), '0 errored'),
          nullif(format('{:,} not assessed', count(*) filter (judgement = 'unknown')), '0 not assessed')
        )
      },
      {
        'kind': 'good',
        'value': count(*) filter (judgement = 'passing'),
        'text': format('{:,} passing', count(*) filter (judgement = 'passing'))
      },
      {'kind': 'soft', 'value': without_checks, 'text': format('{:,} without checks', without_checks)}
    ],
    lambda part: part.value > 0
  ) as states,
  if(count(is_failing) = 0, null, format('{:,} of {:,}', failing, workspaces)) as failing_of,
  -- where one that fails is not assessed now, 0 says nothing
  nullif(
    sum(checks_failed) filter (known_failing(checks_failed, checks_unknown) is not null),
    if(bool_or(is_failing and known_failing(checks_failed, checks_unknown) is null), 0, null)
  ) as checks_failed,
  project_external_id,
from judged
group by target, project_external_id, project_name
order by failing desc, checks_failed desc nulls last, project_name, target, project_external_id;
