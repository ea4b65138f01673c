-- The state of the sources at the times of a rendering: most statements of reports read it, some of them several times.
-- {{states}}: the union of `kept_state.sql` for each time
create or replace temp table source_states as
{{states}};
