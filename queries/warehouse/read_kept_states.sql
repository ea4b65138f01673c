-- grain: one row per target and source, as the macro of the warehouse that it hides; it reads what was computed once, and fails for another time
-- {{times}}: those of `source_states`, as literals
create or replace temp macro source_state_at(at_time) as table
select * exclude (state_at)
from source_states
where case when at_time::timestamptz in ({{times}}) then state_at = at_time::timestamptz else error('the state of the sources is not prepared for this time') end;
