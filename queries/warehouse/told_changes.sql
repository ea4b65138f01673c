-- `3 new, 1 resolved`: how many of something changed, in words.
-- {{scope}}: empty, or `temp ` for one connection
create or replace {{scope}}macro told_changes(added, returned, resolved, deleted) as
  coalesce(
    nullif(
      concat_ws(
        ', ',
        nullif(added || ' new', '0 new'),
        nullif(returned || ' returned', '0 returned'),
        nullif(resolved || ' resolved', '0 resolved'),
        nullif(deleted || ' deleted', '0 deleted')
      ),
      ''
    ),
    'nothing changed'
  );
