-- grain: one row per version of a leaf certificate
-- subject: leaf certificate
-- title: Leaf certificates
-- table: leaf_certificates
-- order: 14
select
  if(coalesce(namespace, 'default') = 'default', service, concat(namespace, '/', service)) as subject_id,
  service as subject_name,
  namespace as place,
  version.*,
from leaf_certificates_history as version
