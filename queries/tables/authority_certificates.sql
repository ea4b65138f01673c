-- grain: one row per certificate of the mesh's authority: roots and intermediates, without their text
-- key: fingerprint
-- source: ca_roots
-- part: root_id
create table if not exists authority_certificates_history (
  target varchar not null, -- name of the target in tidemark.yaml
  fingerprint varchar, -- SHA-256 of the certificate; of its text, where it cannot be read, and the other columns are then null
  kind varchar, -- `root` or `intermediate`
  root_id varchar, -- ID of the root that names it
  subject varchar, -- distinguished name of the owner
  issuer varchar, -- distinguished name of the signer
  serial varchar, -- serial number, hexadecimal
  not_before timestamptz, -- start of validity
  not_after timestamptz, -- end of validity
  key_type varchar, -- type of the public key, such as `ec` or `rsa`
  key_bits bigint, -- size of the public key, bits; null where its type has one size
  signature_algorithm varchar, -- how it is signed; the number of the algorithm where its name is not known
  key_id varchar, -- identifier of its key
  signer_key_id varchar, -- identifier of the signer's key
  names varchar, -- alternative names
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
