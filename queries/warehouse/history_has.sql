-- Whether the history is whole at a time. {{scope}}: empty, or `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro history_has(at_time) as
  at_time >= coalesce((select max(starts_at) from history_start), '-infinity'::timestamptz);
