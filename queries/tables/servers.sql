-- grain: one row per target with `flavor: hashicorp`
-- key: target
-- source: servers
-- name: product
create table if not exists servers_history (
  target varchar not null, -- name of the target in tidemark.yaml
  kind varchar, -- kind of the target
  product varchar, -- what the server says that it is, such as vault, openbao, consul, nomad, hcp-terraform; null where it does not tell
  version varchar, -- version of the server that answered; of the enterprise edition it ends in `+ent`; null where it tells none, or could not be asked
  note varchar, -- why the server could not be asked, such as a missing permission of the token; null where it answered
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
