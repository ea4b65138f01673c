-- The last pull of a source of a target.
select status, extracted_at
from pulls
where target = $target and source = $source
order by as_of desc
limit 1;
