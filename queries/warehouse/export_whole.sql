-- A table without targets to partition by, as one Parquet file.
copy (from {{table}}) to {{file}} (format parquet, compression zstd);
