insert into schema_digest values ($digest);
