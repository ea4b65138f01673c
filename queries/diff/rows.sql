-- grain: as difference.sql: the rows of one section, in the order that is shown. $section
select difference.*
from difference
inner join sections on sections.id = difference.rowid
where section = $section
order by nth;
