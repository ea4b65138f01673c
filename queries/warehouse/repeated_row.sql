-- A row that is there twice, with the same values. {{rows}}: the stage, or the current rows of a target; {{content}}: all columns.
select {{key}}, count(*) as times
from {{rows}}
group by {{key}}, hash({{content}})
having count(*) > 1
limit 1;
