-- Fills a stage or a history from a load query; what is absent is null, never an empty text, JSON null or empty object.
insert into {{into}} by name
select {{columns}}
from ({{rows}}) as loaded;
