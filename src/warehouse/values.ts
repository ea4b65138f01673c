import { createRequire } from 'node:module';
import type {
  DuckDBDataChunk,
  DuckDBMaterializedResult,
  DuckDBResult,
  DuckDBType,
  DuckDBValue,
} from '@duckdb/node-api';
import { parseJson } from '../core/json.ts';
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

const duckdb = loadDuckdb();

export const { DuckDBInstance, DuckDBTypeId, listValue, VARCHAR } = duckdb;

/** The longest string of JavaScript. Node throws for a longer one, and ends the process above 2 GiB, which DuckDB can make. */
const MAX_TEXT_BYTES = 2 ** 29 - 24;

const vector = duckdb.DuckDBVarCharVector.prototype as unknown as {
  readonly dataView: DataView;
  readonly validity: { itemValid(index: number): boolean };
  getItem(index: number): string | null;
};
const { getItem } = vector;
vector.getItem = function (index) {
  const bytes = this.dataView.getUint32(index * 16, true); // of a text, where its other 12 bytes say
  if (bytes <= MAX_TEXT_BYTES || !this.validity.itemValid(index)) return getItem.call(this, index);
  const [size, limit] = [bytes, MAX_TEXT_BYTES].map((number) => number.toLocaleString('en-US'));
  throw new Error(`a text of ${size} bytes is longer than ${limit}`);
};

/** A value in templates and JSON output. `bigint` only if a number would lose digits. */
export type Value = null | boolean | number | bigint | string | readonly Value[] | { readonly [name: string]: Value };
export type Row = Readonly<Record<string, Value>>;

const MICROS = 1_000_000n;

interface ValueColumn {
  readonly name: string;
  readonly type: DuckDBType;
  /** Texts that rows share. */
  readonly texts?: Map<string, string>;
}

/** The columns of a result: the types of a chunk lack the alias that marks JSON. */
function listColumns(result: DuckDBResult): readonly ValueColumn[] {
  return result.deduplicatedColumnNames().map((name, index) => ({ name, type: result.columnType(index) }));
}

/** The rows of a result in memory. A reader would ask another thread for each chunk, and for one after the last. */
export function toRows(result: DuckDBMaterializedResult): Row[] {
  const columns = listColumns(result).map((column) => ({ ...column, texts: new Map<string, string>() }));
  const rows: Row[] = [];
  for (let index = 0; index < result.chunkCount; index++)
    for (const values of result.getChunk(index).getRows()) rows.push(toRow(values, columns));
  return rows;
}

/** How to read the rows of each chunk of a result. */
export function chunkReader(result: DuckDBResult): (chunk: DuckDBDataChunk) => Row[] {
  const columns = listColumns(result);
  return (chunk) => chunk.getRows().map((row) => toRow(row, columns));
}

export function toRow(values: readonly DuckDBValue[], columns: readonly ValueColumn[]): Row {
  const entries = columns.map(({ name, type, texts }, index) => {
    const value = toValue(values[index] ?? null, type);
    return [name, typeof value === 'string' && texts ? shareText(value, texts) : value];
  });
  return Object.fromEntries(entries);
}

/** A column with more texts than this hardly repeats them. */
const MAX_SHARED_TEXTS = 1000;

/** One text for all rows that repeat it. DuckDB's API creates it for each row, and texts take most of the memory of rows. */
function shareText(text: string, texts: Map<string, string>): string {
  const shared = texts.get(text);
  if (shared === undefined && texts.size < MAX_SHARED_TEXTS) texts.set(text, text);
  return shared ?? text;
}

/** Converts timestamps to ISO 8601 in UTC, integers to numbers if they fit, and JSON columns to their values. */
function toValue(value: DuckDBValue, type?: DuckDBType): Value {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value;
  if (typeof value === 'string')
    return type?.alias === 'JSON' ? (parseJson(value, Number.POSITIVE_INFINITY) as Value) : value;
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (value instanceof duckdb.DuckDBTimestampTZValue || value instanceof duckdb.DuckDBTimestampValue)
    return formatMicros(value.micros);
  if (value instanceof duckdb.DuckDBDateValue) return value.toString();
  if (value instanceof duckdb.DuckDBDecimalValue) return value.toDouble();
  if (value instanceof duckdb.DuckDBListValue || value instanceof duckdb.DuckDBArrayValue) {
    const inner =
      type?.typeId === DuckDBTypeId.LIST || type?.typeId === DuckDBTypeId.ARRAY ? type.valueType : undefined;
    return value.items.map((item) => toValue(item, inner));
  }
  if (value instanceof duckdb.DuckDBStructValue) {
    const entryType = (name: string) => (type?.typeId === DuckDBTypeId.STRUCT ? type.typeForEntry(name) : undefined);
    return Object.fromEntries(Object.entries(value.entries).map(([name, v]) => [name, toValue(v, entryType(name))]));
  }
  if (value instanceof duckdb.DuckDBMapValue) {
    return Object.fromEntries(value.entries.map(({ key, value: v }) => [String(toValue(key)), toValue(v)]));
  }
  return String(value);
}

/** `2026-11-20T02:15:00Z`, with a fraction if there is one, and `infinity` beyond the range of JavaScript's dates. */
function formatMicros(micros: bigint): string {
  const seconds = micros >= 0n ? micros / MICROS : (micros - MICROS + 1n) / MICROS;
  const rest = micros - seconds * MICROS;
  const date = new Date(Number(seconds) * 1000);
  if (Number.isNaN(date.getTime())) return micros > 0n ? 'infinity' : '-infinity';
  const fraction = rest === 0n ? '' : `.${rest.toString().padStart(6, '0').replace(/0+$/u, '')}`;
  return `${date.toISOString().slice(0, 19)}${fraction}Z`;
}
