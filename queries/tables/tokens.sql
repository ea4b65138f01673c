-- grain: one row per target with `flavor: hashicorp` that takes a token
-- key: target
-- source: tokens
-- instance: accessor_id
-- renewed: expires_at
create table if not exists tokens_history (
  target varchar not null, -- name of the target in tidemark.yaml
  accessor_id varchar, -- public ID of the token, or of the account that it belongs to
  name varchar, -- name or description of the token or account
  type varchar, -- type that the service reports; `anonymous` without a token, `acl-disabled` where the service checks none
  policies varchar[], -- names of its policies
  roles varchar[], -- names of its roles
  is_management boolean, -- whether it may do everything; null if the service does not tell
  rights json, -- what it may do: capabilities by path (secrets), rules by policy (scheduler), entitlements (platform); null if the service does not tell
  sees_every_namespace boolean, -- whether its policies at the scheduler show it the volumes of every namespace; null where that is not known
  expires_at timestamptz, -- when it ends; null if it does not end or the service does not tell
  created_at timestamptz, -- when it was created
  extra json, -- other fields that the service returned, without the token
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
