-- grain: one row per role of a mesh credential engine
-- key: name, mount
-- source: mesh_roles
-- part: mount
-- encoded: policy
-- acted: secrets.mesh-roles name, mount
create table if not exists mesh_roles_history (
  target varchar not null, -- name of the target in tidemark.yaml
  mount varchar, -- where the engine is mounted, without slashes
  name varchar, -- name of the role
  token_type varchar, -- `client` or `management`
  policy varchar, -- base64 ACL policy; null when policies are referenced by name
  lease varchar, -- lease as the service returns it: a duration, or seconds
  consul_policies varchar[], -- policies of its tokens, also where the service calls them `policies`; `global-management` makes management tokens
  consul_roles varchar[], -- mesh roles of its tokens
  service_identities varchar[], -- service identities of its tokens
  node_identities varchar[], -- node identities of its tokens
  consul_namespace varchar, -- mesh namespace of its tokens
  partition varchar, -- mesh partition of its tokens
  ttl varchar, -- lifetime of its tokens as the service returns it; `lease` is its older name
  max_ttl varchar, -- maximum lifetime of its tokens as the service returns it
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
