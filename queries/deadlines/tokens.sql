-- deadline: Tokens that Tidemark reads with.
-- grain: one row per target whose token ends; a service that does not tell when it ends has none
-- parameters: $as_of
select
  target,
  'token' as kind,
  target as subject_id,
  coalesce(name, accessor_id, target) as subject_name,
  expires_at as ends_at,
  'make another token, and set it in tidemark.yaml' as what_to_do,
from tokens_at($as_of)
where expires_at is not null;
