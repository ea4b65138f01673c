-- Numbers rows that are the same in {{key}}: the first has no ordinal, the others have 2, 3 and so on.
-- {{order}}: all other columns, so that the numbers do not depend on the order of the listing. {{filter}}: the loaded rows.
update {{table}} as rows
set ordinal = numbered.ordinal
from (
  select rowid as row, row_number() over (partition by {{key}} order by {{order}}) as ordinal
  from {{table}}
  where {{filter}}
) as numbered
where rows.rowid = numbered.row and numbered.ordinal > 1;
