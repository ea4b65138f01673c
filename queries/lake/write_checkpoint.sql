-- A checkpoint of a Delta table from its actions, a list in JSON (PROTOCOL.md of delta-io/delta, "Checkpoint Schema").
copy (
  select unnest(
    from_json(
      {{actions}},
      '[{
        "txn": {"appId": "varchar", "version": "bigint", "lastUpdated": "bigint"},
        "add": {"path": "varchar", "partitionValues": "map(varchar, varchar)", "size": "bigint", "modificationTime": "bigint", "dataChange": "boolean", "stats": "varchar", "tags": "map(varchar, varchar)"},
        "remove": {"path": "varchar", "deletionTimestamp": "bigint", "dataChange": "boolean"},
        "metaData": {"id": "varchar", "name": "varchar", "description": "varchar", "format": {"provider": "varchar", "options": "map(varchar, varchar)"}, "schemaString": "varchar", "partitionColumns": ["varchar"], "createdTime": "bigint", "configuration": "map(varchar, varchar)"},
        "protocol": {"minReaderVersion": "integer", "minWriterVersion": "integer"}
      }]'
    ),
    max_depth := 2
  )
) to {{file}} (format parquet, compression zstd);
