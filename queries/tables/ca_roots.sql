-- grain: one row per CA root of the mesh
-- key: root_id
-- source: ca_roots
create table if not exists ca_roots_history (
  target varchar not null, -- name of the target in tidemark.yaml
  root_id varchar, -- ID of the root
  name varchar, -- name
  active boolean, -- whether it currently signs certificates
  not_before timestamptz, -- start of validity
  not_after timestamptz, -- end of validity
  serial_number ubigint, -- serial number, 64 bit unsigned
  signing_key_id varchar, -- ID of the signing key
  private_key_type varchar, -- type of the private key
  private_key_bits bigint, -- size of the private key, bits
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
