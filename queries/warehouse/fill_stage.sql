-- Fills the stage from a load query; what is absent is null, never an empty text, JSON null or empty object.
insert into stage_{{table}} by name
select {{cleaned}}
from ({{rows}}) as loaded;
