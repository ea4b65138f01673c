import { createRequire } from 'node:module';

/**
 * DuckDB's API for Node. An import would read each of its CommonJS files twice, once only for the names that it exports: 50 ms more,
 * which every command that opens a warehouse would wait for.
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
