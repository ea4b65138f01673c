-- Numbers rows that are the same in {{names}}: the first has no ordinal, the others have 2, 3 and so on.
-- {{order}}: all other columns, so that the numbers do not depend on the order of the listing.
update stage_{{table}} as rows
set ordinal = numbered.ordinal
from (
  select rowid as row, row_number() over (partition by {{names}} order by {{order}}) as ordinal
  from stage_{{table}}
  where hash({{names}}) in (select hash({{names}}) from stage_{{table}} group by {{names}} having count(*) > 1)
) as numbered
where rows.rowid = numbered.row and numbered.ordinal > 1;
