-- Ends the versions that were changed or deleted.
update {{history}}
set valid_to = $as_of::timestamptz
where rowid in (select history_row from delta_{{table}} where history_row is not null);
