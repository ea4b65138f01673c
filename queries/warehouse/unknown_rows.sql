-- How many current rows belong to parts that could not be listed. {{isUnknown}}: true for them
select count(*) as rows
from {{history}}
where target = $target and valid_to is null and ({{isUnknown}});
