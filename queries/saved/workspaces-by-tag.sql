-- title: Which workspaces have a tag
-- description: Workspaces with their tags, one row for each; only the real products have tags.
-- param: tag text = '' - only this tag: a key, or `key:value`
with tagged as (
  select *, trim(unnest(string_split(tags, ','))) as tag
  from workspaces
)
select target, tag, project_name, workspace_name, drifted, current_rum_count as resources
from tagged
where $tag = '' or tag = $tag or starts_with(tag, concat($tag, ':'))
order by tag, target, project_name, workspace_name;
