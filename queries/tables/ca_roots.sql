-- grain: one row per CA root of the mesh, without the certificates
-- key: root_id
-- source: ca_roots
-- part: root_id
-- computed: extra.DaysRemaining, modify_index
create table if not exists ca_roots_history (
  target varchar not null, -- name of the target in tidemark.yaml
  root_id varchar, -- ID of the root
  name varchar, -- name
  active boolean, -- whether it currently signs certificates; null where the service says so of no root
  not_before timestamptz, -- start of validity: of the certificate, where it can be read
  not_after timestamptz, -- end of validity: of the certificate, where it can be read
  serial_number ubigint, -- serial number, 64 bit unsigned
  signing_key_id varchar, -- ID of the signing key
  private_key_type varchar, -- type of the private key
  private_key_bits bigint, -- size of the private key, bits
  trust_domain varchar, -- trust domain of the mesh; null where the service does not tell
  external_trust_domain varchar, -- trust domain in the certificate
  intermediate_digests varchar[], -- SHA-256 of the PEM text of each intermediate certificate; the certificates are not kept
  create_index ubigint, -- index at creation
  modify_index ubigint, -- index at the last change of any root
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
