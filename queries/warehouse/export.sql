-- A table as Parquet, one folder per target; read it back with read_parquet('TABLE/**/*.parquet', hive_partitioning = true).
copy (from {{table}}) to {{folder}} (format parquet, compression zstd, partition_by (target), overwrite true);
