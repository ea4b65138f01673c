-- A table or view that a warehouse of an earlier version does not have: no row, because nothing is known. The next run makes it.
-- {{name}}: its macro; {{columns}}: its columns, each null of its type
create or replace temp macro {{name}}(at_time) as table
select {{columns}}
where at_time is null and at_time is not null;
