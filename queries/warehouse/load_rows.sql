-- Fills a stage or a history from a load query. Absent values are null, never an empty string, JSON null or an empty object.
insert into {{into}} by name
select {{columns}}
from ({{rows}}) as loaded;
