import { createRequire } from 'node:module';

/**
 * DuckDB's API for Node, loaded by `require`: an import would parse each of its CommonJS files a second time to find its exports,
 * which adds 50 ms to every command that opens a warehouse.
 */
const duckdb = createRequire(import.meta.url)('@duckdb/node-api') as typeof import('@duckdb/node-api');

export const {
  DuckDBArrayValue,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBInstance,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTypeId,
  LIST,
  listValue,
  StatementType,
  VARCHAR,
} = duckdb;
