-- rule: A target reads with a token that may do everything.
-- severity: info
-- sources: tokens
-- subject: token
-- many: targets are read with a token that may do everything
-- repair: make a token with the rights that tidemark permissions lists
-- grain: one row per such target; none where `managementToken` of the target gives the reason, or the service does not tell what the token may do
select
  tokens.target,
  tokens.target as subject_id,
  coalesce(tokens.name, tokens.accessor_id, tokens.target) as subject_name,
  format('Target {} reads with a token that may do everything', tokens.target) as title,
  json_object('accessor_id', accessor_id, 'name', name, 'type', type, 'policies', coalesce(policies, [])) as detail,
from tokens
left join configured_targets as configured using (target)
where tokens.is_management and configured.management_token is null
