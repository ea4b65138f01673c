import type { Flavor } from '../types.ts';
import type { Field, Row, Value } from './fields.ts';
import type { Json } from './json-api.ts';
import type { Result } from './query.ts';

/** `2023-10-16T22:55:50.123+00:00`, the explorer's form in JSON. */
const jsonTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, -1)}+00:00`;
/** `2023-10-16T22:55:50Z`, the explorer's form in CSV. */
const csvTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, -5)}Z`;

/** Hyphens for underscores, but for the documents' one exception; HCP Terraform gave it up in 2026 (live-services.md A4). */
const attributeName = (name: string, flavor: Flavor): string =>
  name === 'current_rum_count' && flavor === 'documents' ? name : name.replaceAll('_', '-');

/** One explorer row as a JSON:API resource. */
export function jsonRow({ view, columns }: Result, row: Row, flavor: Flavor): Json {
  const attributes = columns.map((field) => {
    const value = field.of(row);
    const shown = field.type === 'datetime' && typeof value === 'number' ? jsonTime(value) : value;
    return [attributeName(field.name, flavor), shown] as const;
  });
  return { id: view.idOf(row), type: view.rowType, attributes: Object.fromEntries(attributes) };
}

const quoted = (text: string): string => `"${text.includes('"') ? text.replaceAll('"', '""') : text}"`;

function csvCell({ type }: Field<Row>, value: Value, missing: string): string {
  if (value === null) return missing;
  if (type === 'datetime') return `"${csvTime(Number(value))}"`;
  return typeof value === 'string' ? quoted(value) : `"${value}"`;
}

/** Lines of CSV, each with its end; `missing` stands for a value that is not there. */
export function* csvLines({ columns, rows }: Result, missing: '""' | 'null'): Generator<string> {
  yield `${columns.map(({ name }) => name).join(',')}\n`;
  for (const row of rows) {
    let line = '';
    for (const field of columns) line += `${line === '' ? '' : ','}${csvCell(field, field.of(row), missing)}`;
    yield `${line}\n`;
  }
}
