-- The last action that made the change `c`: its call names the row, or it shows a new row in its state after it, and the column is one
-- that it changed, where its states have columns of the table. {{seen}}: the actions, with the pulls that can have seen them
(
  select arg_max({'plan_id': plan_id, 'action_id': action_id, 'approved_by': approved_by}, started_at)
  from {{seen}} as seen
  where
    seen.target = c.target
    and seen."table" = c."table"
    and seen.seen_from <= c."at"
    and seen.seen_to >= c."at"
    and (
      (len(seen.ids) > 0 and list_has_all(string_split(c.key, '/'), seen.ids))
      or (
        c.change = 'new'
        and contains(seen.after, concat('"', regexp_extract(c.key, '[^/]*$'), '"'))
        and not coalesce(contains(seen.before, concat('"', regexp_extract(c.key, '[^/]*$'), '"')), false)
      )
    )
    and (c."column" is null or len(seen.fields) = 0 or list_contains(seen.changed_fields, c."column"))
)
