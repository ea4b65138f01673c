-- An empty stage. {{columns}}: null values of the types of the table.
create or replace temp table stage_{{table}} as
select {{columns}}
limit 0;
