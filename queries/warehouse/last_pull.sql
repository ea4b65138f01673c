-- The last pull of a source of a target. Of one that loaded nothing, `extracted_at` is null.
select extracted_at
from pulls
where target = $target and source = $source
order by as_of desc
limit 1;
