-- grain: one row per version of a KMS provider
-- subject: KMS provider
-- title: KMS providers
-- table: kms_providers
-- order: 7
select name as subject_id, name as subject_name, null::varchar as place, version.*
from kms_providers_history as version
