insert into {{stored}} by name
select {{columns}}
from (
{{query}}
)
where {{which}};
