-- The digest of the definitions that the warehouse was last brought to.
select digest
from schema_digest;
