-- grain: one row per table of which rows of mail_routes changed since the previous digest, with the number of subjects by kind of change,
-- and how many changes plans made; the others are by others
-- parameters: $as_of; $since. {{changes}}: the rows of attributed_changes
-- A route with projects covers workspaces, and the rows that name them.
with
  routed as (
    select target, bool_or(project is null) as is_whole
    from mail_routes
    group by target
  ),
  mine as (
    select distinct target, "table", key, change, plan_id
    from ({{changes}}) as changes
    join routed using (target)
    where
      changes.at > $since::timestamptz
      and changes.at <= $as_of::timestamptz
      and (
        is_whole
        -- each part of a key is looked up: a search of the workspaces for every key would take the product of their numbers
        or exists (
          from (select unnest(string_split(changes.key, '/')) as part) as parts
          join mail_workspaces as workspaces on workspaces.target = changes.target and workspaces.workspace_id = parts.part
        )
      )
  ),
  kinds as (
    select
      "table",
      change,
      count(distinct {'target': target, 'key': key}) as subjects,
      count(distinct {'target': target, 'key': key}) filter (plan_id is not null) as by_plans,
    from mine
    group by all
  )
select
  "table" as name,
  string_agg(format('{:,} {}', subjects, change), ', ' order by list_position(['new', 'gone', 'back', 'renamed', 'moved', 'changed'], change)) as changes,
  concat_ws(
    ', ',
    if(sum(by_plans) > 0, format('{:,} by plans', sum(by_plans)), null),
    if(sum(subjects) > sum(by_plans), format('{:,} by others', sum(subjects) - sum(by_plans)), null)
  ) as actors,
from kinds
group by "table"
order by sum(subjects) desc, "table";
