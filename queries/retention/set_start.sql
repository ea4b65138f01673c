-- Keeps since when the history is whole. $start, $now
merge into history_start
using (select $start::timestamptz as starts_at, $now::timestamptz as pruned_at) as removed
on true
when matched and history_start.starts_at < removed.starts_at then update set starts_at = removed.starts_at, pruned_at = removed.pruned_at
when not matched then insert (starts_at, pruned_at) values (removed.starts_at, removed.pruned_at);
