-- internal: yes
-- grain: one row per table or column that an update added to a warehouse with pulls
create table if not exists additions (
  table_name varchar not null, -- the table
  column_name varchar, -- the column; null for the whole table
  added_after timestamptz not null -- `as_of` of the last pull before it
);
