-- What SHOW TABLES shows, without the tables that only store parts of others: lists by member (T_members) and their rows (T_rows).
with names as (
  select name
  from (show tables)
)
select name
from names
where
  name <> 'schema_digest'
  and not ends_with(name, '_members')
  and not (ends_with(name, '_rows') and regexp_replace(name, '_rows$', '_members') in (select name from names))
