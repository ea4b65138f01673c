-- Keeps the last line of the ledger that was seen. $lines, $digest, $now
merge into ledger_head
using (select $lines::bigint as lines, $digest as digest, $now::timestamptz as seen_at) as seen
on true
when matched then update set lines = seen.lines, digest = seen.digest, seen_at = seen.seen_at
when not matched then insert (lines, digest, seen_at) values (seen.lines, seen.digest, seen.seen_at);
