import { TidemarkError } from '../core/errors.ts';
import { isSecretField } from '../core/redact/secret-fields.ts';
import type { LandingFile } from '../landing/store.ts';
import type { Database, SqlParams } from './database.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from './sql-files.ts';
import { type Column, columnList, historyTable, ORDINAL, type Table } from './tables.ts';
import type { Row } from './values.ts';

/** A landed file with its absolute path. */
export interface LandingFilePath extends LandingFile {
  readonly path: string;
}

const MEBIBYTE = 1024 * 1024;

/** Names of the real product for specified explorer fields (docs/services/platform.md#real-product). */
const PRODUCT_NAMES: Readonly<Record<string, string>> = {
  state_version_terraform_version: 'state_version_iac_version',
  workspace_terraform_version: 'workspace_iac_version',
};

/** Landed rows of one table and target, and where they go. */
export interface LoadSpec {
  readonly table: Table;
  readonly landed: readonly LandingFilePath[];
  readonly target: string;
  /** Writes directly to the history, with this `valid_from` (ISO 8601). @default writes to the stage, which is created again */
  readonly asOf?: string;
}

/** Loads landed files into a table. @throws DuckDB's error for a row that does not match the declared types. */
export async function loadFiles(database: Database, files: SqlFiles, spec: LoadSpec): Promise<void> {
  const { table, landed, asOf } = spec;
  if (asOf === undefined) {
    await database.run(await files.render('warehouse/stage', { table: table.name, columns: columnList(table) }));
  }
  const csv = landed.filter(({ format }) => format === 'csv');
  const json = landed.filter(({ format }) => format === 'ndjson');
  for (const file of csv) {
    const load = await files.render('load/explorer_csv', csvLoadParts(table, file));
    await loadRows(database, files, spec, load, { file: file.path });
  }
  if (json.length === 0) return;
  const load = await files.read(`load/${table.name}`);
  await loadRows(database, files, spec, load, { files: json.map(({ path }) => path), longest_line: longestLine(json) });
}

/** The buffer size that reading JSON lines needs. */
export function longestLine(json: readonly LandingFile[]): number {
  return Math.max(MEBIBYTE, ...json.map((file) => (file.longestLine ?? 0) + 1024));
}

async function loadRows(
  database: Database,
  files: SqlFiles,
  spec: LoadSpec,
  load: string,
  from: SqlParams,
): Promise<void> {
  const { table, target, asOf } = spec;
  const params = { ...from, target, as_of: asOf };
  const shape = await database.rows(await files.render('warehouse/describe_load', { rows: load }), params);
  const loaded = new Set(shape.map(({ column_name }) => String(column_name)));
  const cleaned = table.columns.map((column) => cleanColumn(column, loaded));
  const into = asOf === undefined ? `stage_${table.name}` : historyTable(table);
  const columns = asOf === undefined ? cleaned : [...cleaned, '$as_of::timestamptz as valid_from'];
  const sql = await files.render('warehouse/load_rows', { into, columns: columns.join(',\n  '), rows: load });
  await database.run(sql, params);
}

function cleanColumn({ name, type }: Column, loaded: ReadonlySet<string>): string {
  if (name === 'target') return '$target as target';
  const column = quoteIdent(name);
  if (!loaded.has(name)) return `null as ${column}`;
  if (type === 'varchar') return `nullif(${column}, '') as ${column}`;
  if (type === 'json') return `nullif(nullif(${column}::varchar, 'null'), '{}')::json as ${column}`;
  return column;
}

/** Read as text and cast: the CSV reader of DuckDB 1.5 silently turns an invalid timestamp into null. */
const TIME = 'timestamptz';

const MAX_LINE_BYTES = 256 * MEBIBYTE;

function csvLoadParts(table: Table, file: LandingFilePath): Record<string, string> {
  const header = file.columns ?? [];
  const known = new Map(table.columns.map((column) => [column.name, column.type]));
  known.delete(ORDINAL); // a field of this name is not ours
  const columnType = (name: string) => known.get(PRODUCT_NAMES[name] ?? name);
  const readAs = (name: string) => (columnType(name) === TIME ? 'varchar' : (columnType(name) ?? 'varchar'));
  const struct = header.map((name) => `${quoteIdent(name)}: ${quoteLiteral(readAs(name))}`).join(', ');
  const named = header
    .filter((name) => columnType(name))
    .map(
      (name) =>
        `${columnType(name) === TIME ? `${quoteIdent(name)}::${TIME}` : normalizeExtra(name)} as ${quoteIdent(PRODUCT_NAMES[name] ?? name)}`,
    );
  const others = header.filter((name) => !columnType(name) && !isSecretField(name)).sort();
  const pairs = others.map((name) => `${quoteLiteral(name)}, nullif(${quoteIdent(name)}, '')`).join(', ');
  const extra = others.length === 0 ? [] : [`json_merge_patch('{}', json_object(${pairs})) as extra`];
  // A row is a line, and a row of tf_versions may name every workspace: only the file size bounds it.
  const maxLine = Math.min(
    MAX_LINE_BYTES,
    Math.max(2 * MEBIBYTE, table.members ? file.bytes : (file.longestLine ?? 0)),
  );
  return {
    select: [...named, ...extra].join(', '),
    columns: `{${struct}}`,
    nulls: file.bareNull ? "['', 'null']" : "['']",
    maxLine: String(maxLine),
    bufferSize: String(maxLine * 4),
  };
}

/** JSON pages land unknown fields as one JSON column. DuckDB rewrites it, so that it compares equal to a column from CSV. */
function normalizeExtra(name: string): string {
  return name === 'extra' ? `json_merge_patch('{}', ${quoteIdent(name)})` : quoteIdent(name);
}

/**
 * Rejects missing and repeated keys. In a table whose key has an ordinal, rows with the same key and other values are kept apart.
 * @param current checks the current rows of this target instead of the stage
 * @returns a note if rows had to be kept apart
 * @throws TidemarkError DATA
 */
export async function checkKeys(
  database: Database,
  files: SqlFiles,
  table: Table,
  current?: { readonly target: string },
): Promise<string | undefined> {
  const names = table.key.filter((name) => name !== ORDINAL);
  const required = names[0] ?? 'target';
  const rows = current
    ? await files.render('warehouse/current_rows', { history: historyTable(table) })
    : `stage_${table.name}`;
  const parts = { rows, key: names.map(quoteIdent).join(', '), keyMissing: `${quoteIdent(required)} is null` };
  const find = async (query: string, more: Readonly<Record<string, string>> = {}) => {
    const [row] = await database.rows(await files.render(`warehouse/${query}`, { ...parts, ...more }), current);
    return row;
  };
  const missing = await find('missing_key');
  if (Number(missing?.rows) > 0) {
    throw new TidemarkError('DATA', `${table.name}: ${missing?.rows} row(s) without ${required}`);
  }
  const repeated = await find('repeated_key');
  if (!repeated) return undefined;
  const content = table.columns.filter(({ name }) => name !== ORDINAL).map(({ name }) => quoteIdent(name));
  const refused =
    names.length === table.key.length ? repeated : await find('repeated_row', { content: content.join(', ') });
  if (refused) throw new TidemarkError('DATA', `${table.name}: ${describeRepeat(refused, names)}`);
  await numberRepeats(database, files, table, parts.key, current);
  return `${table.name}: ${describeRepeat(repeated, names)} and other values: the column ordinal keeps them apart`;
}

function describeRepeat(row: Row, names: readonly string[]): string {
  const shown = names.map((name) => `${name} ${JSON.stringify(row[name])}`).join(', ');
  return `${row.times} rows have the key ${shown}`;
}

async function numberRepeats(
  database: Database,
  files: SqlFiles,
  table: Table,
  key: string,
  current: { readonly target: string } | undefined,
): Promise<void> {
  // What tells such rows apart is most likely in fields that are not documented.
  const order = ['extra', ...table.columns.map(({ name }) => name).filter((name) => name !== 'extra')];
  const sql = await files.render('warehouse/number_repeats', {
    table: current ? historyTable(table) : `stage_${table.name}`,
    filter: current ? 'target = $target and valid_to is null' : 'true',
    key,
    order: order.map((name) => `${quoteIdent(name)}::varchar nulls first`).join(', '),
  });
  await database.run(sql, current);
}

/** The number of current rows of a target. */
export async function countCurrent(database: Database, files: SqlFiles, table: Table, target: string): Promise<number> {
  const rows = await files.render('warehouse/current_rows', { history: historyTable(table) });
  const [count] = await database.rows(await files.render('warehouse/count_rows', { rows }), { target });
  return Number(count?.rows);
}
