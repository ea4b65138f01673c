-- Whether a table and its compact copy have as many rows.
select (select count(*) from warehouse.main.{{table}}) = (select count(*) from compact.main.{{table}}) as is_same;
