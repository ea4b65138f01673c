-- grain: one row per workspace that a row of `named_uses` names (use_id), for a `provider` or `module` (kind)
-- {{scope}} as for semver_key.
create or replace {{scope}}macro named_workspaces(product_kind) as table
select use_id, workspace_name
from (
  select use_id, unnest(if(is_split, string_split(member.member, ','), [member.member])).ltrim() as workspace_name
  from query_table(product_kind || 's_members') as member
  join named_uses as held
    on held.target = member.target
    and held.name is not distinct from member.name
    and held.source is not distinct from member.source
    and held.version is not distinct from member.version
    and held.ordinal is not distinct from member.ordinal
  where held.kind = product_kind and member.valid_to is null and member.member <> ''
)
where workspace_name <> '';
