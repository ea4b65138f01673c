-- grain: one row per project
-- title: By project
-- labels: project_name=Project; states=Workspaces; drifting_of=Drifting; resources_drifted=Resources drifted
-- strips: states=bar
-- legend: bad=drifting; soft=not assessed now; good=clean
-- links: drifting_of=drifting
-- subjects: project_name=project:project_external_id
-- hidden: project_external_id, workspaces, drifting, clean, not_assessed
select
  now.target,
  now.project_name,
  count(*) as workspaces,
  count(*) filter (changes.is_drifting) as drifting,
  count(*) filter (not known_drift(now.drifted, now.resources_drifted)) as clean,
  count(*) filter (known_drift(now.drifted, now.resources_drifted) is null) as not_assessed,
  list_filter(
    [
      {'kind': 'bad', 'value': drifting, 'text': format('{:,} drifting', drifting)},
      {
        'kind': 'soft',
        'value': workspaces - drifting - clean,
        'text': format('{:,} not assessed now', workspaces - drifting - clean)
      },
      {'kind': 'good', 'value': clean, 'text': format('{:,} clean', clean)}
    ],
    lambda part: part.value > 0
  ) as states,
  if(count(changes.is_drifting) = 0, null, format('{:,} of {:,}', drifting, workspaces)) as drifting_of,
  -- where one that drifts is not assessed now, 0 says nothing
  nullif(
    sum(now.resources_drifted) filter (known_drift(now.drifted, now.resources_drifted) is not null),
    if(bool_or(changes.is_drifting and known_drift(now.drifted, now.resources_drifted) is null), 0, null)
  ) as resources_drifted,
  now.project_external_id,
from workspaces_at($as_of) as now
join workspace_changes($as_of, null) as changes using (target, external_id)
group by now.target, now.project_external_id, now.project_name
order by drifting desc, resources_drifted desc nulls last, now.project_name, now.target, now.project_external_id;
