-- The state of the sources as of a time, with the time.
-- {{time}}: a literal
select *, {{time}} as state_at from source_state_at({{time}})
