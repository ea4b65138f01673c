-- grain: one row for a table: its rows, and the versions of its history; a log has none
-- {{name}}: the table as a literal; {{table}}; {{versions}}: SQL of the number of versions
select {{name}} as name, (select count(*) from {{table}}) as row_count, {{versions}} as versions
