-- Keeps the last line of the ledger that was seen. $lines, $digest, $replaced_lines, $replaced_digest, $now
merge into ledger_head
using (
  select
    $lines::bigint as lines,
    $digest as digest,
    $now::timestamptz as seen_at,
    $replaced_lines::bigint as replaced_lines,
    $replaced_digest::varchar as replaced_digest,
) as seen
on true
when matched then update
when not matched then insert by name;
