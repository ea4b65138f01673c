-- grain: one row
create table if not exists schema_digest (digest varchar not null);
