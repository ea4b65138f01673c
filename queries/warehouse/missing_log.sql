-- A log that a warehouse of an earlier version does not have: no row, because it wrote none. {{name}}: the table; {{columns}}: as in missing_relation.sql
create or replace temp view {{name}} as
select {{columns}}
where false;
