-- grain: one row per configured service and namespace of the mesh, without the certificate and its key
-- key: service, namespace
-- source: leaf_certificates
-- part: service
-- computed: create_index, modify_index
-- renewed: serial_number, valid_after, valid_before, fingerprint
create table if not exists leaf_certificates_history (
  target varchar not null, -- name of the target in tidemark.yaml
  service varchar, -- name of the service
  service_uri varchar, -- URI in the certificate
  serial_number varchar, -- serial number, colon-hex
  valid_after timestamptz, -- start of validity: of the certificate, where it can be read
  valid_before timestamptz, -- end of validity: of the certificate, where it can be read
  namespace varchar, -- namespace of the service; `default` where the service names none
  create_index ubigint, -- index at creation
  modify_index ubigint, -- index at the last change
  fingerprint varchar, -- SHA-256 of the certificate; of its text, where it cannot be read, and the columns below are then null
  subject varchar, -- distinguished name in the certificate
  issuer varchar, -- distinguished name of the signer
  key_type varchar, -- type of the public key, such as `ec` or `rsa`
  key_bits bigint, -- size of the public key, bits; null where its type has one size
  signature_algorithm varchar, -- how it is signed; the number of the algorithm where its name is not known
  signer_key_id varchar, -- identifier of the signer's key
  names varchar, -- alternative names
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
