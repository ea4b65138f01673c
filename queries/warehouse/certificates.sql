-- grain: one row per certificate of the mesh, now
-- catalogue: yes
-- sources: ca_roots, leaf_certificates
-- identity: target, fingerprint, service
-- name: subject
--  target varchar -- name of the target in tidemark.yaml
--  kind varchar -- `root`, `intermediate` or `leaf`
--  subject varchar -- whom it names
--  issuer varchar -- who signed it, by name
--  serial varchar -- serial number
--  not_before timestamptz -- start of its validity
--  not_after timestamptz -- end of its validity
--  key_type varchar -- kind of its key
--  key_bits bigint -- size of its key
--  signature_algorithm varchar -- how it is signed
--  fingerprint varchar -- SHA-256 of the certificate
--  service varchar -- service of a leaf, with its namespace where that is not `default`; null for others
--  names varchar -- names that it is valid for
--  signed_by varchar -- fingerprint of its signer; null for a root, and where no certificate of the authority signed it
--  root_id varchar -- root at the end of its chain; null where it is not known
-- defined: after the views
create or replace view certificates as
select *
from certificates_at('infinity'::timestamptz);
