-- Ends the members that were removed or moved, or whose row was deleted. Members of unchanged rows stay.
update {{table}}_members as member
set valid_to = $as_of::timestamptz
where
  member.target = $target
  and member.valid_to is null
  and member.rowid not in (select held_row from ranked where held_row is not null)
  and exists (
    select 1
    from {{table}}_rows as version
    where version.rowid in (select history_row from delta_{{table}} where history_row is not null) and {{memberKey}}
  );
