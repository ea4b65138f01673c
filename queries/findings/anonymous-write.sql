-- rule: The ACL policy `anonymous` grants more than read access to requests without a token.
-- severity: critical
-- sources: acl_policies
-- asks: complete listing of acl_policies
-- subject: ACL policy
-- grain: one row per target where it does; unknown where its rules are not reported, and where it is not listed although it may exist
-- A policy that is listed is evidence enough. That it is not listed proves something only where the listing is complete.
-- Rules are HCL or JSON. Comments are removed first (a string may contain what looks like one), then every `policy` and
-- `capabilities` is read.
-- The scheduler names what reads `read-…`, `list-…`, `…-read` or `…-read-…` (`license-read`, `sentinel-read`, `csi-read-volume`). Everything else
-- that is not known to read or deny counts as a grant, so that no new capability is missed.
with
  tokenized as (
    select
      *,
      array_to_string(
        list_filter(
          regexp_extract_all(rules, '"(?:[^"\\]|\\.)*"|#[^\n]*|//[^\n]*|(?s:/\*.*?\*/)|[^"#/]+|/', 0),
          lambda token: not regexp_matches(token, '^(#|//|/\*)')
        ),
        ''
      ) as code,
    from acl_policies
    where name = 'anonymous'
  ),
  granted as (
    select
      *,
      list_filter(
        regexp_extract_all(code, '\bpolicy"?\s*[=:]\s*"([^"]*)"', 1),
        lambda level: level not in ('read', 'list', 'deny')
      ) as levels,
      list_filter(
        flatten(
          list_transform(
            regexp_extract_all(code, '\bcapabilities"?\s*[=:]\s*\[([^\]]*)\]', 1),
            lambda members: regexp_extract_all(members, '"([^"]*)"', 1)
          )
        ),
        lambda capability: capability not in ('deny', 'read', 'list', 'parse-job', 'mount-readonly')
          and not regexp_matches(capability, '^(read|list)-|-(read|list)-|-read$')
      ) as capabilities,
    from tokenized
  ),
  listed as (
    select
      *,
      list_sort(list_distinct(
        list_transform(levels, lambda level: 'policy ' || level)
        || list_transform(capabilities, lambda capability: 'capability ' || capability)
      )) as grants,
    from granted
  )
select
  target,
  name as subject_id,
  name as subject_name,
  case
    when rules is null then 'its rules are not reported'
    else 'ACL policy anonymous grants more than read access: ' || array_to_string(grants, ', ')
  end as title,
  json_object('policy_name', name, 'grants', grants, 'modify_index', modify_index) as detail,
  len(grants) as weight,
  rules is null as unknown,
from listed
where rules is null or len(grants) > 0
union all
select target, null, null, 'the policy anonymous is not listed: ' || why, '{}'::json, null, true
from listing_proofs
where
  source = 'acl_policies'
  and not proven
  and target not in (select target from acl_policies where name = 'anonymous')
