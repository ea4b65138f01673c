-- Whether the pull `p` could list the part that `n` belongs to. {{name}}, {{column}}: of the part, as a literal and as a column
not coalesce(
  list_contains(
    list_transform(
      list_filter(
        from_json(p.unknown_parts, '[{"column": "varchar", "value": "varchar"}]'),
        lambda part: part."column" = {{name}}
      ),
      lambda part: coalesce(part.value, '')
    ),
    coalesce(n.{{column}}, '')
  ),
  false
)
