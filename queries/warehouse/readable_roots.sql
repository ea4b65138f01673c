-- grain: one row per root of a mesh that has named a certificate which could be read
select distinct target, root_id
from authority_certificates
where subject is not null
order by all;
