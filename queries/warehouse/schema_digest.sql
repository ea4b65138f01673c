-- The digest of the definitions of the last migration.
select digest
from schema_digest;
