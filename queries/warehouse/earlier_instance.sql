-- What the last other thing with the key of `n` was.
-- {{history}}; {{instance}}: of `f`; {{isSelf}}: whether `f` and `n` have one key; {{isOther}}: whether they are different things
(
  select arg_max({{instance}}, row(f.valid_to, {{instance}}))
  from {{history}} as f
  where {{isSelf}} and f.valid_to <= n.valid_from and {{isOther}}
)
