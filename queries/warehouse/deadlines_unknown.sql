-- grain: one row for a query in queries/deadlines that fails: what ends is not known
-- {{scope}}: empty, or `temp ` for one connection; {{name}}: of the macro; {{file}}, {{problem}}: literals
create or replace {{scope}}macro {{name}}(at_time) as table
select
  null::varchar as target,
  'not known' as kind,
  {{file}} as subject_id,
  {{file}} as subject_name,
  null::timestamptz as ends_at,
  {{problem}} as what_to_do,
