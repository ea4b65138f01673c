-- When the rows that a source of a target holds now were asked for.
select max(landed_at) as landed_at
from pulls
where target = $target and source = $source and status = 'complete';
