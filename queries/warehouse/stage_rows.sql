-- A stage with the rows of a load query. Absent values are null, never an empty string, JSON null or an empty object.
create or replace temp table stage_{{table}} as
select {{columns}}
from ({{rows}}) as loaded;
