-- grain: one row per version of a certificate of the mesh's authority
-- subject: certificate
-- title: Certificates of the authority
-- table: authority_certificates
-- order: 18
select fingerprint as subject_id, coalesce(subject, fingerprint) as subject_name, issuer as place, version.*
from authority_certificates_history as version
