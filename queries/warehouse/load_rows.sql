-- Adds the rows of a load query to a stage. Absent values are null, never an empty string, JSON null or an empty object.
insert into stage_{{table}} by name
select {{columns}}
from ({{rows}}) as loaded;
