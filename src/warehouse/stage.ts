import { TidemarkError } from '../core/errors.ts';
import { plural } from '../core/plural.ts';
import { isSecretField } from '../core/redact/secret-fields.ts';
import type { LandingFile } from '../landing/store.ts';
import { type Database, firstLine, type SqlParams } from './database.ts';
import { DIGEST, digestColumns } from './history.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from './sql-files.ts';
import { type Column, historyTable, ORDINAL, type Table } from './tables.ts';
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
  /** The stage has a digest of each row. With `asOf`, only the rows are written that `compareStage` found to be new or changed. */
  readonly isDigested?: boolean;
  /** Adds the rows to the stage, beside those of other targets. @default false */
  readonly appends?: boolean;
}

/** Staging the rows of a smaller landing costs less than reading it twice. */
const DIGEST_BYTES = 8 * MEBIBYTE;

/**
 * Whether the stage of a landing gets a digest of each row instead of its columns: to write a row costs three times as much as to
 * parse it, and most rows are those of the day before. The few that changed are then read from the landing a second time.
 */
export function isDigestible({ key, members, computed }: Table, landed: readonly LandingFile[]): boolean {
  const bytes = landed.reduce((sum, file) => sum + file.bytes, 0);
  const isCsv = landed.every(({ format }) => format === 'csv');
  return bytes >= DIGEST_BYTES && isCsv && !members && computed.length === 0 && !key.includes(ORDINAL);
}

/** Loads landed files into a table. @returns the number of rows. @throws DuckDB's error for a row that does not match the declared types. */
export async function loadFiles(database: Database, files: SqlFiles, spec: LoadSpec): Promise<number> {
  const { table, landed, asOf } = spec;
  return loadMeasured(database, files, spec).catch((error: unknown) => {
    if (!table.members || asOf !== undefined || !/Maximum line size/u.test(String(error))) throw error;
    // A row with line breaks in a cell is longer than its lines.
    const unmeasured = landed.map(({ longestLine: _, ...file }) => file);
    return loadMeasured(database, files, { ...spec, landed: unmeasured });
  });
}

async function loadMeasured(database: Database, files: SqlFiles, spec: LoadSpec): Promise<number> {
  const { table, landed, asOf, appends = false } = spec;
  const loads = await readLoads(files, table, landed);
  const createsStage = asOf === undefined && !appends;
  if (loads.length === 0 && createsStage) {
    await createStage(database, files, table);
  }
  let rows = 0;
  for (const [index, load] of loads.entries()) {
    rows += await loadRows(database, files, spec, { ...load, createsStage: createsStage && index === 0 });
  }
  return rows;
}

/** Creates an empty stage. */
export async function createStage(database: Database, files: SqlFiles, table: Table): Promise<void> {
  const columns = stagedColumns(table, new Set()).join(',\n  ');
  await database.write(await files.render('warehouse/stage', { table: table.name, columns }), { target: '' });
}

/** A query over landed files. */
interface Load {
  readonly query: string;
  readonly params: SqlParams;
  /** The columns of the query, where they are known. */
  readonly columns?: ReadonlySet<string>;
}

/** A query for each CSV file, which has rows of the source's main table, or one for all JSON lines. */
async function readLoads(files: SqlFiles, table: Table, landed: readonly LandingFilePath[]): Promise<readonly Load[]> {
  const csv = table.name === table.source ? landed.filter(({ format }) => format === 'csv') : [];
  const json = csv.length > 0 ? [] : landed.filter(({ format }) => format === 'ndjson');
  const loads = csv.map(async (file) => {
    const { columns, parts } = csvLoadParts(table, file);
    return { query: await files.render('load/explorer_csv', parts), params: { file: file.path }, columns };
  });
  if (json.length === 0) return Promise.all(loads);
  const query = await files.read(`load/${table.name}`);
  const params = { files: json.map(({ path }) => path), longest_line: longestLine(json) };
  return Promise.all([...loads, { query, params }]);
}

/** The buffer size that reading JSON lines needs. */
export function longestLine(json: readonly LandingFile[]): number {
  return Math.max(MEBIBYTE, ...json.map((file) => (file.longestLine ?? 0) + 1024));
}

async function loadRows(
  database: Database,
  files: SqlFiles,
  spec: LoadSpec,
  load: Load & { readonly createsStage: boolean },
): Promise<number> {
  const params = { ...load.params, target: spec.target, as_of: spec.asOf };
  const write = async (loaded?: ReadonlySet<string>) =>
    database.write(await renderLoad(files, spec, load, loaded), params);
  try {
    return await write(load.columns);
  } catch (error) {
    if (load.columns || !isUnknownColumn(error)) throw error;
    const shape = await database.rows(await files.render('warehouse/describe_load', { rows: load.query }), params);
    return write(new Set(shape.map(({ column_name }) => String(column_name))));
  }
}

/** Few load queries lack a column of their table: to describe each of them first would cost as much as a small load. */
function isUnknownColumn(error: unknown): boolean {
  return firstLine(error).startsWith('Binder Error');
}

/** @param loaded columns of the load query; the others of the table are null. @default all columns of the table */
async function renderLoad(
  files: SqlFiles,
  { table, asOf, isDigested }: LoadSpec,
  { query, createsStage }: Load & { readonly createsStage: boolean },
  loaded?: ReadonlySet<string>,
): Promise<string> {
  const staged = stagedColumns(table, loaded);
  const columns = asOf === undefined ? staged : [...staged, '$as_of::timestamptz as valid_from'];
  const whole = { columns: columns.join(',\n  '), rows: query };
  const parts = isDigested ? await renderDigested(files, table, whole, asOf) : whole;
  if (createsStage) return files.render('warehouse/stage_rows', { ...parts, table: table.name });
  const into = asOf === undefined ? `stage_${table.name}` : historyTable(table);
  return files.render('warehouse/load_rows', { ...parts, into });
}

/** The key and the digest of each row, or the rows that `compareStage` found to be new or changed. */
async function renderDigested(
  files: SqlFiles,
  table: Table,
  whole: { readonly columns: string; readonly rows: string },
  asOf: string | undefined,
): Promise<typeof whole> {
  const key = table.key.map(quoteIdent).join(', ');
  if (asOf === undefined) {
    const columns = `${key}, ${digestColumns(table)} as ${DIGEST}`;
    return { columns, rows: await files.render('warehouse/loaded_rows', whole) };
  }
  const sameKey = table.key.map(
    (name) => `loaded.${quoteIdent(name)} is not distinct from changed.${quoteIdent(name)}`,
  );
  const parts = { ...whole, table: table.name, key, sameKey: sameKey.join(' and ') };
  return { columns: '*', rows: await files.render('warehouse/changed_rows', parts) };
}

/** The column of a stage with the text of the list, for a table with a list column: that column has a digest of it. */
export const LIST_TEXT = 'list_text';

function stagedColumns(table: Table, loaded?: ReadonlySet<string>): readonly string[] {
  const cleaned = table.columns.map((column) => ({ name: column.name, value: cleanColumn(column, loaded) }));
  const list = cleaned.find(({ name }) => name === table.members);
  const columns = cleaned.map(
    ({ name, value }) => `${name === list?.name ? `md5(${value})` : value} as ${quoteIdent(name)}`,
  );
  return list ? [...columns, `${list.value} as ${LIST_TEXT}`] : columns;
}

/** The value of a column, with the type that the table declares. */
function cleanColumn({ name, type }: Column, loaded?: ReadonlySet<string>): string {
  if (name === 'target') return '$target::varchar';
  // A field of this name is not ours: `checkKeys` numbers the rows.
  if (name === ORDINAL || (loaded && !loaded.has(name))) return `null::${type}`;
  const column = quoteIdent(name);
  if (type === 'varchar') return `nullif(${column}, '')::varchar`;
  // A cast from text would parse the JSON again.
  if (type === 'json') return `if(${column}::json::varchar in ('null', '{}'), null, ${column}::json)`;
  return `${column}::${type}`;
}

/** Read as text and cast: the CSV reader of DuckDB 1.5 silently turns an invalid timestamp into null. */
const TIME = 'timestamptz';

const MAX_LINE_BYTES = 256 * MEBIBYTE;
/** A reader has several buffers in memory. One of less than two lines makes DuckDB 1.5 take the start of a line for its end. */
const MIN_BUFFER_BYTES = 8 * MEBIBYTE;

/** What `load/explorer_csv` is rendered with, and the columns that it then yields. */
function csvLoadParts(table: Table, file: LandingFilePath) {
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
  // A row is a line, and a row of tf_versions may name every workspace: without a measured line, only the file size bounds it.
  const longest = file.longestLine ?? (table.members ? file.bytes : 0);
  const maxLine = Math.min(MAX_LINE_BYTES, Math.max(2 * MEBIBYTE, longest + 1024));
  const parts = {
    select: [...named, ...extra].join(', '),
    columns: `{${struct}}`,
    nulls: file.bareNull ? "['', 'null']" : "['']",
    maxLine: String(maxLine),
    bufferSize: String(Math.max(MIN_BUFFER_BYTES, maxLine * 2)),
  };
  const loaded = header.filter((name) => columnType(name)).map((name) => PRODUCT_NAMES[name] ?? name);
  return { parts, columns: new Set(extra.length === 0 ? loaded : [...loaded, 'extra']) };
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
  if (!(await find('invalid_key'))) return undefined;
  const missing = await find('missing_key');
  if (Number(missing?.rows) > 0) {
    throw new TidemarkError('DATA', `${table.name}: ${plural(Number(missing?.rows), 'row')} without ${required}`);
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
    order: order
      .map((name) => `${quoteIdent(name === table.members ? LIST_TEXT : name)}::varchar nulls first`)
      .join(', '),
  });
  await database.run(sql, current);
}

/** The number of current rows of a target. */
export async function countCurrent(database: Database, files: SqlFiles, table: Table, target: string): Promise<number> {
  const rows = await files.render('warehouse/current_rows', { history: historyTable(table) });
  const [count] = await database.rows(await files.render('warehouse/count_rows', { rows }), { target });
  return Number(count?.rows);
}
