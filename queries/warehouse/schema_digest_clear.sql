delete from schema_digest;
