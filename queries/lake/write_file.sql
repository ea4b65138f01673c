-- The pending changes of a month as one sorted file.
copy (
  select op, as_of, {{publish}}::bigint as publish, {{fields}}
  from lake_pending
  where strftime(as_of, '%Y-%m') = {{part}}
  order by {{order}}, as_of
) to {{file}} (format parquet, compression zstd, row_group_size 122880);
