-- What the last other thing with the key of `n` was.
-- Parts: as of table_changes.sql
(
  select arg_max({{instance f}}, row(f.valid_to, {{instance f}}))
  from {{history}} as f
  where {{sameKey f n}} and f.valid_to <= n.valid_from and not {{sameThing f}}
)
