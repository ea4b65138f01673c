-- grain: one row per target and source: the rows of its last complete pull
select target, source, arg_max(rows, as_of) as rows
from pulls
where status = 'complete' and rows is not null
group by target, source
order by target, source;
