-- grain: one row per changed row and pull, at most {{limit}} of each pull, with {{columns}} of its columns, and the numbers of all of the table and pull and of the pull; what is rare comes first
-- {{changes}}: rows of `attributed_changes`; {{after}}, {{until}}: constants, so that DuckDB reads only the versions of that time
-- {{subjects}}: the subjects that have the key of a row; $project, $subject, $target, $by: empty for all
with
  in_projects as (
    select distinct target, external_id
    from workspaces_history
    where project_name = $project or project_external_id = $project
  ),
  told as (
    select *
    from ({{changes}}) as c
    where
      c.at > {{after}}::timestamptz
      and c.at <= {{until}}::timestamptz
      and ($target = '' or c.target = $target)
      and ($by = '' or ($by = 'plan') = (c.plan_id is not null))
      and ($subject = '' or contains(lower(concat_ws(' ', c.name, c.key)), lower($subject)))
      and (
        $project = ''
        -- each part of a key is looked up: a search of the workspaces for every key would take the product of their numbers
        or exists (
          from (select unnest(string_split(c.key, '/')) as part) as parts
          join in_projects on in_projects.target = c.target and in_projects.external_id = parts.part
        )
      )
  ),
  changed as (
    select
      told.at,
      target,
      "table",
      key,
      max(name) as name,
      max(change) as change,
      max(plan_id) as plan_id,
      max(approved_by) as approved_by,
      list_sort(list({'column': "column", 'old': if(length(old) > 100, left(old, 100) || '…', old), 'new': if(length("new") > 100, left("new", 100) || '…', "new")})) as columns,
    from told
    group by told.at, target, "table", key, change in ('new', 'gone', 'back')
  ),
  counted as (
    select *, count(*) over (partition by changed.at, "table") as total, count(*) over (partition by changed.at) as night_total,
    from changed
  ),
  numbered as (
    select *, row_number() over (partition by counted.at order by total, "table", target, coalesce(name, key), key, change) as nth
    from counted
  ),
  subjects as (
    {{subjects}}
  )
select numbered.* exclude (columns), to_json(columns[:{{columns}}]) as columns, len(columns) as column_count, subjects.subject_type, subjects.subject_id
from numbered
left join subjects using (target, "table", key)
where nth <= {{limit}}
order by numbered.at desc, nth;
