-- grain: one row per workspace and `provider` or `module` (kind) of which it uses a version that the policy denies, or that is below its minimum, as a
-- rule returns it: for the worst of the versions that it uses; unknown where there is a policy and the version cannot be read, or where not
-- every workspace of a version that it may refuse is reported
-- The policy names the full source address, and so matches no other product of the same name. {{scope}} as for semver_key.
create or replace {{scope}}macro versions_in_use_refused(product_kind) as table
with
  judged as (
    from versions_in_use where kind = product_kind and verdict in ('denied', 'below minimum', 'unknown')
  ),
  used as (
    select judged.*, products.name as short_name, workspace_name
    from named_uses as products
    join judged
      on judged.target = products.target
      and judged.name = products.full_source
      and judged.version is not distinct from products.version
    join named_workspaces(product_kind) using (use_id)
    where products.kind = product_kind
  )
select
  target,
  concat_ws(' ', workspace_name, short_name, name) as subject_id,
  workspace_name as subject_name,
  case verdict
    when 'unknown' then 'its version cannot be compared with the policy'
    when 'denied' then format('Workspace {} uses {} {} {}, which the policy denies: {}', workspace_name, product_kind, name, version, reason)
    else format(
      'Workspace {} uses {} {} {}, below the minimum {}{}',
      workspace_name,
      product_kind,
      name,
      version,
      versions,
      coalesce(': ' || reason, '')
    )
  end as title,
  json_object(
    'workspace_name', workspace_name,
    'source', name,
    'version', version,
    'verdict', verdict,
    'policy', versions,
    'reason', reason,
    'link', link,
    'until', ends_at
  ) as detail,
  severity,
  format('{} {}', name, version) as group_key,
  verdict = 'unknown' as unknown,
from used
qualify
  row_number() over (
    partition by target, subject_id
    order by list_position(['critical', 'warning', 'info'], severity) nulls last, semver_key(version), version
  ) = 1
union all by name
select target, null as subject_id, why as title, json_merge_patch('{}', json_object('source', full_source)) as detail, true as unknown
from unreported_uses
where
  kind = product_kind
  and workspace_name is null
  and (
    full_source is null
    or exists (
      from judged
      where
        judged.target = unreported_uses.target
        and judged.name = full_source
        and judged.version is not distinct from unreported_uses.version
    )
  );
