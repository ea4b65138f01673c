-- A checkpoint of a Delta table from its actions, one JSON document in a line (PROTOCOL.md of delta-io/delta, "Checkpoint Schema").
copy (
  select *
  from read_json(
    {{actions}},
    format = 'newline_delimited',
    maximum_object_size = 134217728,
    columns = {
      txn: 'STRUCT("appId" VARCHAR, version BIGINT, "lastUpdated" BIGINT)',
      add: 'STRUCT(path VARCHAR, "partitionValues" MAP(VARCHAR, VARCHAR), size BIGINT, "modificationTime" BIGINT, "dataChange" BOOLEAN, stats VARCHAR, tags MAP(VARCHAR, VARCHAR))',
      remove: 'STRUCT(path VARCHAR, "deletionTimestamp" BIGINT, "dataChange" BOOLEAN)',
      "metaData": 'STRUCT(id VARCHAR, "name" VARCHAR, description VARCHAR, format STRUCT(provider VARCHAR, options MAP(VARCHAR, VARCHAR)), "schemaString" VARCHAR, "partitionColumns" VARCHAR[], "createdTime" BIGINT, configuration MAP(VARCHAR, VARCHAR))',
      protocol: 'STRUCT("minReaderVersion" INTEGER, "minWriterVersion" INTEGER)'
    }
  )
) to {{file}} (format parquet, compression zstd);
