-- The workspaces of a list that the explorer returns, with null at the end where it counts more than it names. Names may contain commas: the
-- list is split at comma and space, or at every comma where only that gives their number. {{scope}} as for semver_key.
create or replace {{scope}}macro workspace_names(workspaces, workspace_count) as
  case
    when coalesce(workspaces, '') = '' then if(workspace_count > 0, [null::varchar], [])
    when len(string_split(workspaces, ', ')) >= workspace_count or workspace_count is null then string_split(workspaces, ', ')
    when len(string_split(workspaces, ',')) = workspace_count then string_split(workspaces, ',')
    else list_append(string_split(workspaces, ', '), null)
  end;
