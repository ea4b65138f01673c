-- A table as one sorted Parquet file. JSON is exported as text, because readers disagree about the JSON type of Parquet.
-- columns: the select list; order: the columns to sort by, or 1
copy (select {{columns}} from {{table}} order by {{order}}) to {{file}} (format parquet, compression zstd, row_group_size 122880);
