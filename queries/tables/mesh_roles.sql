-- grain: one row per role of the mesh credential engine
-- key: name
-- source: mesh_roles
create table if not exists mesh_roles_history (
  target varchar not null, -- name of the target in tidemark.yaml
  name varchar, -- name of the role
  token_type varchar, -- `client` or `management`
  policy varchar, -- base64 ACL policy; null when policies are named instead
  lease varchar, -- lease as the service tells it: a duration, or seconds
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
