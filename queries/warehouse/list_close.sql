-- Ends the members that were removed or moved, or whose row was deleted.
update {{table}}_members
set valid_to = $as_of::timestamptz
where rowid in (select held_row from member_changes where held_row is not null);
