-- Rows of a log from the lake. {{which}}: those of the targets of a shard, or `true`
insert into {{stored}} by name
select {{columns}}
from (
{{query}}
)
where {{which}};
