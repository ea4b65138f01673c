-- grain: the last line of the ledger that this warehouse has seen; no row where it has seen no ledger
-- A warehouse of an earlier version has no columns for the ledger that was replaced.
select lines, digest, replaced_lines, replaced_digest
from (
  select null::bigint as lines, null::varchar as digest, null::bigint as replaced_lines, null::varchar as replaced_digest
  where false
  union all by name
  from ledger_head
);
