-- The key of the last row that had the name of `n`, and was gone when `n` began.
-- {{history}}; {{key}}, {{name}}: of `f`; {{ownName}}: of `n`; {{isSelf}}: whether `f` and `n` have one key; {{sameKey}}: whether `f` and `g` do
(
  select arg_max({{key}}, row(f.valid_to, {{key}}))
  from {{history}} as f
  where
    f.target = n.target
    and {{name}} = {{ownName}}
    and f.valid_to <= n.valid_from
    and not ({{isSelf}})
    and not exists (
      from {{history}} as g
      where {{sameKey}} and g.valid_from <= n.valid_from and (g.valid_to is null or g.valid_to > n.valid_from)
    )
)
