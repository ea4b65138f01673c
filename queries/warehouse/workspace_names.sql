-- The workspaces of a list that the explorer returns. Names may contain commas: the list is split at comma and space, or at every comma
-- where only that gives their number. {{scope}} as for semver_key.
create or replace {{scope}}macro workspace_names(workspaces, workspace_count) as
  if(
    len(string_split(workspaces, ', ')) <> workspace_count and len(string_split(workspaces, ',')) = workspace_count,
    string_split(workspaces, ','),
    string_split(workspaces, ', ')
  );
