-- When the current rows of a source of a target were extracted.
select max(extracted_at) as extracted_at
from pulls
where target = $target and source = $source and status in ('complete', 'partial');
