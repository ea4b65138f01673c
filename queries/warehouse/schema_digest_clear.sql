-- Before `schema_digest_set`; alone, it makes the next session migrate.
delete from schema_digest;
