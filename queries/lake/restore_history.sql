-- {{which}}: the rows of the targets of a shard, or all.
-- The versions of a relation of the lake, oldest first, so that a query of a time reads few parts of the table.
insert into {{stored}} by name
select {{columns}}, valid_from, valid_to
from (
{{query}}
)
where {{which}}
order by valid_from;
