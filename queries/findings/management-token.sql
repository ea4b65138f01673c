-- rule: A target reads with a token that may do everything.
-- severity: info
-- sources: tokens
-- subject: token
-- many: targets are read with a token that may do everything
-- repair: make a token with the rights that tidemark permissions lists
-- grain: one row per such target; none where `managementToken` of the target gives the reason, or the service has no word
-- for it; unknown where the roles of the token are not told
select
  tokens.target,
  tokens.target as subject_id,
  coalesce(tokens.name, tokens.accessor_id, tokens.target) as subject_name,
  format('Target {} reads with a token that may do everything', tokens.target) as title,
  json_object('accessor_id', accessor_id, 'name', name, 'type', type, 'policies', coalesce(policies, [])) as detail,
  tokens.is_management is null as unknown,
from tokens
left join configured_targets as configured using (target)
-- a service without a word for it tells the type alone
where coalesce(tokens.is_management, tokens.type is null) and configured.management_token is null
