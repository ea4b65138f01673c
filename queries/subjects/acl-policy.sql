-- grain: one row per version of an ACL policy
-- subject: ACL policy
-- title: ACL policies
-- table: acl_policies
-- order: 9
select name as subject_id, name as subject_name, null::varchar as place, version.*
from acl_policies_history as version
