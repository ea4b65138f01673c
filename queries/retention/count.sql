-- grain: one row: how many rows of a table go, and the bytes of their text
-- {{stored}}: the table; {{old}}: its rows that go
select count(*) as count, coalesce(sum(strlen(stored::varchar)), 0)::bigint as bytes
from {{stored}} as stored
where stored.rowid in (select old_row from {{old}});
