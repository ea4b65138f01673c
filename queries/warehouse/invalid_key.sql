-- Whether a key is missing or repeated, in one pass: `missing_key` and `repeated_key` then say which.
-- {{rows}}: the stage, or the current rows of a target.
select count(*) as times
from {{rows}}
group by {{key}}
having count(*) > 1 or {{keyMissing}}
limit 1;
