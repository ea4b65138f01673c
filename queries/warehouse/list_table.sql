-- grain: one row per member of a list column, key and time; a list that changes by one name then costs one row
-- {{keyColumns}}: the key of the table that has the list, with types. rank: place within the list; gaps and fractions are normal.
create table if not exists {{table}}_members (
  {{keyColumns}},
  member varchar not null,
  nth bigint not null,
  rank double not null,
  valid_from timestamptz not null,
  valid_to timestamptz
);
