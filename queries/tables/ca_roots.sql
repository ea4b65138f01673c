-- grain: one row per CA root of the mesh
-- key: root_id
-- source: ca_roots
create table if not exists ca_roots_history (
  target varchar not null, -- name of the target in tidemark.yaml
  root_id varchar, -- ID of the root
  name varchar, -- name
  active boolean, -- whether it signs now
  not_before timestamptz, -- start of validity
  not_after timestamptz, -- end of validity
  serial_number ubigint, -- serial number, 64 bit unsigned
  signing_key_id varchar, -- ID of the signing key
  private_key_type varchar, -- type of the private key
  private_key_bits bigint, -- size of the private key, bits
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
