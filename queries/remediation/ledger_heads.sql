-- grain: the last line of the ledger that this warehouse has seen, then that of the ledger which it replaces; no row where it has seen none
-- A warehouse of an earlier version has no columns for the ledger that was replaced.
with
  seen as (
    select null::bigint as lines, null::varchar as digest, null::bigint as replaced_lines, null::varchar as replaced_digest
    where false
    union all by name
    from ledger_head
  )
select lines, digest
from (
  select 1 as place, lines, digest
  from seen
  union all
  select 2, replaced_lines, replaced_digest
  from seen
  where replaced_digest is not null
)
order by place;
