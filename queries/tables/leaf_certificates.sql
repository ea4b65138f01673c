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
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
