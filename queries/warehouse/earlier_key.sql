-- The key of the last row that had the name of `n`, and was gone when `n` began.
-- Parts: as of table_changes.sql
(
  select arg_max({{key f}}, row(f.valid_to, {{key f}}))
  from {{history}} as f
  where
    f.target = n.target
    and {{name f}} = {{name n}}
    and f.valid_to <= n.valid_from
    and not ({{sameKey f n}})
    and not exists (
      from {{history}} as g
      where {{sameKey f g}} and g.valid_from <= n.valid_from and (g.valid_to is null or g.valid_to > n.valid_from)
    )
)
