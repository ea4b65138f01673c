-- grain: one row per pull that goes
-- What leaves a source out stays until the source has a later state: without it, rows that nobody watches would count again.
-- {{old}}: the result; parameters: $start
create or replace temp table {{old}} as
select rowid as old_row
from pulls
where
  as_of < $start::timestamptz
  and (
    status <> 'left-out'
    or exists (
      from pulls as later
      where
        later.target = pulls.target
        and later.source = pulls.source
        and later.as_of > pulls.as_of
        and later.as_of <= $start::timestamptz
    )
  );
