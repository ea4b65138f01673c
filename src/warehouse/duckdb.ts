import { createRequire } from 'node:module';
import { nativeError } from '../core/native.ts';

/**
 * DuckDB's API for Node, loaded by `require`: an import would parse each of its CommonJS files a second time to find its exports,
 * which adds 50 ms to every command that opens a warehouse.
 */
function loadDuckdb(): typeof import('@duckdb/node-api') {
  try {
    return createRequire(import.meta.url)('@duckdb/node-api');
  } catch (error) {
    throw nativeError('@duckdb/node-api', error);
  }
}

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
} = loadDuckdb();
