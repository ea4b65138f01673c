-- rule: The ACL policy `anonymous` grants more than read access to requests without a token.
-- severity: critical
-- sources: acl_policies
-- asks: complete listing of acl_policies
-- subject: ACL policy
-- many: policies let requests without a token write
-- repair: reduce the policy to read access
-- grain: one row per target where it does; unknown where its rules are not reported, and where it is not listed although it may exist
-- `grants` is what the pull derives from the rules. A policy that is listed is evidence enough. That it is not listed proves something only where the listing is complete.
select
  target,
  name as subject_id,
  name as subject_name,
  case
    when rules is null then 'its rules are not reported'
    when grants is null then 'its rules are not understood, or were pulled by an earlier version'
    else 'ACL policy anonymous grants more than read access: ' || array_to_string(grants, ', ')
  end as title,
  json_object('policy_name', name, 'grants', grants, 'modify_index', modify_index) as detail,
  len(grants) as weight,
  grants is null as unknown,
from acl_policies
where name = 'anonymous' and (grants is null or len(grants) > 0)
union all
select target, null, null, 'the policy anonymous is not listed: ' || why, '{}'::json, null, true
from listing_proofs
where
  source = 'acl_policies'
  and not proven
  and target not in (select target from acl_policies where name = 'anonymous')
