-- grain: one row per rule of this evaluation; error: why it could not be asked, null when it was
create or replace temp table find_rules (
  rule varchar,
  severity varchar,
  subject varchar,
  sources varchar[],
  error varchar
);
