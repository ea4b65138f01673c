-- A state as one sorted file.
copy (
  select as_of, {{publish}}::bigint as publish, {{fields}}
  from lake_pending
  order by {{order}}
) to {{file}} (format parquet, compression zstd, row_group_size 122880);
