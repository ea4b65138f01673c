-- What the tables, views and macros are defined by. Written last: a migration that was cut off is done again.
insert into schema_digest values ($digest);
