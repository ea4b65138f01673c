-- Joins the columns that the service did not tell when the version {{row}} began. {{source}}: of the table
left join (
  select
    target,
    as_of,
    list_transform(
      from_json(unknown_parts, '[{"column": "varchar", "isColumn": "boolean"}]'),
      lambda part: if(part.isColumn, part."column", null)
    ) as columns
  from pulls
  where source = {{source}} and unknown_parts is not null
) as unknown_{{row}} on unknown_{{row}}.target = {{row}}.target and unknown_{{row}}.as_of = {{row}}.valid_from
