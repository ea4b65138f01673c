import { TidemarkError } from '../core/errors.ts';
import { isSecretField } from '../core/redact.ts';
import type { LandingFile } from '../landing/manifest.ts';
import type { Database, SqlParams } from './database.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from './sql-files.ts';
import { type Column, columnList, historyTable, type Table } from './tables.ts';

/** A landed file, with the full path of where it is now. */
export interface LandingFilePath extends LandingFile {
  readonly path: string;
}

const MEBIBYTE = 1024 * 1024;

/** Live names of documented explorer fields (live-services.md, section 0). */
const LIVE_NAMES: Readonly<Record<string, string>> = {
  state_version_terraform_version: 'state_version_iac_version',
  workspace_terraform_version: 'workspace_iac_version',
};

/** Rows of one table and target that have landed, and where they go. */
export interface LoadSpec {
  readonly table: Table;
  readonly landed: readonly LandingFilePath[];
  readonly target: string;
  /** Goes straight into the history, valid from this moment (ISO 8601). @default the stage, which is made anew */
  readonly asOf?: string;
}

/** Fills a table from landed files. @throws what DuckDB says of a row that is not as declared. */
export async function loadFiles(database: Database, files: SqlFiles, filling: LoadSpec): Promise<void> {
  const { table, landed, asOf } = filling;
  if (asOf === undefined) {
    await database.run(await files.render('warehouse/stage', { table: table.name, columns: columnList(table) }));
  }
  const csv = landed.filter(({ format }) => format === 'csv');
  const json = landed.filter(({ format }) => format === 'ndjson');
  for (const file of csv) {
    const load = await files.render('load/explorer_csv', csvLoadParts(table, file));
    await loadRows(database, files, filling, load, { file: file.path });
  }
  if (json.length === 0) return;
  const load = await files.read(`load/${table.name}`);
  const longest_line = Math.max(MEBIBYTE, ...json.map((file) => (file.longestLine ?? 0) + 1024));
  await loadRows(database, files, filling, load, { files: json.map(({ path }) => path), longest_line });
}

async function loadRows(
  database: Database,
  files: SqlFiles,
  filling: LoadSpec,
  load: string,
  from: SqlParams,
): Promise<void> {
  const { table, target, asOf } = filling;
  const params = { ...from, target, as_of: asOf };
  const shape = await database.rows(await files.render('warehouse/describe_load', { rows: load }), params);
  const loaded = new Set(shape.map(({ column_name }) => String(column_name)));
  const cleaned = table.columns.map((column) => cleanColumn(column, loaded));
  const into = asOf === undefined ? `stage_${table.name}` : historyTable(table);
  const columns = asOf === undefined ? cleaned : [...cleaned, '$as_of::timestamptz as valid_from'];
  const sql = await files.render('warehouse/fill', { into, columns: columns.join(',\n  '), rows: load });
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

/** Cast from text: the CSV reader of DuckDB 1.5 makes null of a time that it cannot read, and says nothing. */
const TIME = 'timestamptz';

const LONGEST_LINE = 256 * MEBIBYTE;

function csvLoadParts(table: Table, file: LandingFilePath): Record<string, string> {
  const header = file.columns ?? [];
  const known = new Map(table.columns.map((column) => [column.name, column.type]));
  const typeOf = (name: string) => known.get(LIVE_NAMES[name] ?? name);
  const readAs = (name: string) => (typeOf(name) === TIME ? 'varchar' : (typeOf(name) ?? 'varchar'));
  const struct = header.map((name) => `${quoteIdent(name)}: ${quoteLiteral(readAs(name))}`).join(', ');
  const named = header
    .filter((name) => typeOf(name))
    .map(
      (name) =>
        `${typeOf(name) === TIME ? `${quoteIdent(name)}::${TIME}` : normalizeExtra(name)} as ${quoteIdent(LIVE_NAMES[name] ?? name)}`,
    );
  const others = header.filter((name) => !typeOf(name) && !isSecretField(name)).sort();
  const pairs = others.map((name) => `${quoteLiteral(name)}, nullif(${quoteIdent(name)}, '')`).join(', ');
  const extra = others.length === 0 ? [] : [`json_merge_patch('{}', json_object(${pairs})) as extra`];
  // A row is a line, and one row of tf_versions names every workspace: the file itself bounds it.
  const maxLine = Math.min(LONGEST_LINE, Math.max(2 * MEBIBYTE, table.members ? file.bytes : (file.longestLine ?? 0)));
  return {
    select: [...named, ...extra].join(', '),
    columns: `{${struct}}`,
    nulls: file.bareNull ? "['', 'null']" : "['']",
    maxLine: String(maxLine),
    bufferSize: String(maxLine * 4),
  };
}

/** Landed JSON pages have the fields beyond the document in one column: DuckDB writes them as it writes those of other columns. */
function normalizeExtra(name: string): string {
  return name === 'extra' ? `json_merge_patch('{}', ${quoteIdent(name)})` : quoteIdent(name);
}

/** Refuses rows whose key is missing or stands twice, in the stage or, `standing`, in what a target holds. @throws TidemarkError DATA */
export async function checkKeys(
  database: Database,
  files: SqlFiles,
  table: Table,
  standing?: { readonly target: string },
): Promise<void> {
  const key = table.key.map(quoteIdent).join(', ');
  const required = table.key[0] ?? 'target';
  const rows = standing
    ? await files.render('warehouse/standing', { history: historyTable(table) })
    : `stage_${table.name}`;
  const parts = { rows, key, keyMissing: `${quoteIdent(required)} is null` };
  const [missing] = await database.rows(await files.render('warehouse/missing_key', parts), standing);
  if (Number(missing?.rows) > 0) {
    throw new TidemarkError('DATA', `${table.name}: ${missing?.rows} row(s) without ${required}`);
  }
  const [twice] = await database.rows(await files.render('warehouse/repeated_key', parts), standing);
  if (twice) {
    const shown = table.key.map((name) => `${name} ${JSON.stringify(twice[name])}`).join(', ');
    throw new TidemarkError('DATA', `${table.name}: ${twice.times} rows have the key ${shown}`);
  }
}

/** Rows of a target that the table holds now. */
export async function countCurrent(database: Database, files: SqlFiles, table: Table, target: string): Promise<number> {
  const rows = await files.render('warehouse/standing', { history: historyTable(table) });
  const [count] = await database.rows(await files.render('warehouse/count', { rows }), { target });
  return Number(count?.rows);
}
