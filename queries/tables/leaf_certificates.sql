-- grain: one row per configured service of the mesh
-- key: service
-- source: leaf_certificates
create table if not exists leaf_certificates_history (
  target varchar not null, -- name of the target in tidemark.yaml
  service varchar, -- name of the service
  service_uri varchar, -- URI in the certificate
  serial_number varchar, -- serial number, colon-hex
  valid_after timestamptz, -- start of validity
  valid_before timestamptz, -- end of validity
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
