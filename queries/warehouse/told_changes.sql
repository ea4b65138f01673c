-- `3 new, 1 resolved`: how many of something changed, in words; null where nothing did.
-- {{scope}}: empty, or `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro told_changes(added, returned, resolved, deleted) as
  nullif(
    concat_ws(
      ', ',
      format('{:,} new', nullif(added, 0)),
      format('{:,} returned', nullif(returned, 0)),
      format('{:,} resolved', nullif(resolved, 0)),
      format('{:,} deleted', nullif(deleted, 0))
    ),
    ''
  );
