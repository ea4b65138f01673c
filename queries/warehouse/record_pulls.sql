-- parameters: $pulls: a JSON list of rows
insert into pulls by name
select
  unnest(
    from_json(
      $pulls,
      '[{"run_id": "varchar", "target": "varchar", "source": "varchar", "status": "varchar", "rows": "bigint", "expected_rows": "bigint", "requests": "bigint", "retries": "bigint", "throttle_wait_ms": "bigint", "bytes": "bigint", "reused": "bigint", "started_at": "timestamptz", "finished_at": "timestamptz", "error": "varchar", "as_of": "timestamptz", "extracted_at": "timestamptz", "throttled": "bigint", "note": "varchar", "inserted": "bigint", "changed": "bigint", "deleted": "bigint", "unknown_parts": "json", "origin": "json", "failure": "json"}]'
    ),
    recursive := true
  );
