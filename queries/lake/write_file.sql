-- Rows of a table of the lake as one sorted file. {{rows}}: the rows; {{publish}}: the publish of each; {{which}}: those of this file
copy (
  select op, as_of, {{publish}} as publish, {{fields}}
  from {{rows}}
  where {{which}}
  order by {{identity}}, as_of, publish
) to {{file}} (format parquet, compression zstd, row_group_size 122880);
