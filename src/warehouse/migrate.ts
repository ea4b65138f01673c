import type { Thresholds } from '../config/config.ts';
import type { PolicyRow } from '../config/policy.ts';
import { discoverFiles, PACKAGE_ROOT } from '../core/paths.ts';
import { sha256 } from '../core/sha256.ts';
import { renderChangesViews } from './changes.ts';
import { blameOwn, type Database, isQueryError } from './database.ts';
import { type Connection, DEFAULT_THRESHOLDS, defineDeadlines, renderDeadlines, type Scope } from './deadlines.ts';
import { createSqlFiles, parseHeader, quoteIdent, quoteLiteral, type SqlFiles } from './sql-files.ts';
import { fillParams } from './sql-params.ts';
import {
  type Addition,
  type Column,
  type Columns,
  columnList,
  historyTable,
  loadTables,
  loadViews,
  readAdditions,
  readColumns,
  sameKey,
  type Table,
  withAdditions,
} from './tables.ts';

/** Rendered for each table that a source fills. */
const VIEWS = ['current_view', 'as_of_macro', 'previous_macro'];

/** The files of the package say when each is defined; a file of a user that overrides one need not. */
const PACKAGED = createSqlFiles([PACKAGE_ROOT]);

/** The name of a macro or of a view in a statement. */
const CALLED = /\w+(?=\s*\()|(?<=\b(?:from|join)\s+)\w+/giu;

/**
 * The shared views and macros, each after those that it calls: the files of the package in `queries/warehouse/` that say `-- defined:`
 * before or after the views of tables.
 * @param when what it says, or a part of that
 */
function listDefinitions(files: SqlFiles, when: string): readonly string[] {
  const found = [...discoverFiles([PACKAGE_ROOT], 'queries/warehouse', '.sql').keys()];
  const names = found.filter((name) => parseHeader(PACKAGED.read(`warehouse/${name}`)).defined?.includes(when));
  const left = new Set(names);
  const take = (name: string): readonly string[] => {
    if (!left.delete(name)) return []; // no definition, or taken already
    const sql = files.render(`warehouse/${name}`, { scope: '', policy: '' });
    return [...[...sql.matchAll(CALLED)].flatMap(([called]) => take(called)), name];
  };
  return names.flatMap(take);
}

/**
 * Defines what the published warehouse of an earlier version does not have, for these connections to it: macros, tables and views without
 * rows, because nothing is known, and the calendar. Nothing where the last migration was one of this version, since each is planned as it is
 * defined.
 */
export async function defineMissing(connections: readonly Connection[], files: SqlFiles, values = DEFAULT_THRESHOLDS) {
  const tables = [...loadTables(files).values()];
  const [last] = (await connections[0]?.script(files.read('warehouse/schema_digest')).catch(() => [])) ?? [];
  if (String(last?.digest).endsWith(digestSchema(files, tables))) return;
  for (const connection of connections) await defineFor(connection, files, tables, values);
}

async function defineFor(database: Connection, files: SqlFiles, tables: readonly Table[], values: Thresholds) {
  const macros = new Set((await database.script(files.read('query/past_macros'))).map(({ name }) => name));
  // Before the tables without rows: what the calendar cannot read is unknown, and no empty calendar.
  if (!macros.has('deadlines_at')) {
    await defineDeadlines(database, files, renderDeadlines(files, values, 'temp '), 'temp ');
    macros.add('deadlines_at');
  }
  const present = new Set((await database.script(files.read('query/present_tables'))).map(({ name }) => name));
  for (const { name, source, columns } of [...tables, ...loadViews(files)]) {
    const isLog = source === undefined && !files.has(`warehouse/${name}_at`);
    if (macros.has(`${name}_at`) || (isLog && present.has(name))) continue;
    const nulls = columns.map(({ name: column, type }) => `null::${type} as ${quoteIdent(column)}`).join(', ');
    const pasts = source === undefined ? [`${name}_at`] : [`${name}_at`, `${name}_before`];
    for (const missing of isLog ? [name] : pasts) {
      const parts = { name: quoteIdent(missing), columns: nulls };
      await database.script(files.render(`warehouse/${isLog ? 'missing_log' : 'missing_relation'}`, parts));
    }
  }
  const names = listDefinitions(files, 'where it is missing');
  await database.script(names.map((name) => files.render(`warehouse/${name}`, { scope: 'temp ' })).join('\n'));
}

/** The end of the digest of a migration: what a version declares, whatever the thresholds and the policy of an organization. */
function digestSchema(files: SqlFiles, tables: readonly Table[]): string {
  // The text of a table has its comments.
  return toDigest([files.read('warehouse/deadlines'), tables.map(({ ddl }) => ddl), renderSchema(files, tables, [])]);
}

const toDigest = (parts: unknown) => sha256(JSON.stringify(parts));

const policyPart = (policy: readonly PolicyRow[]) => quoteLiteral(JSON.stringify(policy));

/** The view `version_policy`. @param scope `temp ` hides that of the warehouse */
export function renderPolicy(files: SqlFiles, policy: readonly PolicyRow[], scope: Scope = ''): string {
  return files.render('warehouse/version_policy', { scope, policy: policyPart(policy) });
}

/**
 * Brings a warehouse to the declared tables: creates tables and columns, and replaces views, macros and comments. Does nothing when the
 * definitions are those of the last migration.
 * @param thresholds those of the view `deadlines`
 * @param policy the rows of the view `version_policy`
 */
export async function migrate(
  database: Database,
  files: SqlFiles,
  thresholds: Thresholds = DEFAULT_THRESHOLDS,
  policy: readonly PolicyRow[] = [],
): Promise<void> {
  const deadlines = renderDeadlines(files, thresholds);
  const declared = [...loadTables(files).values()];
  const digest = `${toDigest([deadlines, policy])} ${digestSchema(files, declared)}`;
  await database.run(files.read('warehouse/schema_digest_table'));
  const [last] = await database.rows(files.read('warehouse/schema_digest'));
  if (last?.digest === digest) return;
  const current = await readColumns({ database, files });
  const added = await findAdditions(database, files, declared, current);
  const all = withAdditions(declared, [...(await readAdditions({ database, files }, current)), ...added]);
  const transact = (texts: readonly string[]) =>
    database.transact(texts.map((sql) => `${sql.trim().replace(/;$/u, '')};`));
  // About 800: one by one they would take five times as long.
  const statements = [
    ...all.flatMap((table) => addColumns(files, table, current)),
    ...renderSchema(files, all, policy),
    ...added.map((addition) => fillParams(files.read('warehouse/record_addition'), { ...addition })),
    ...all.flatMap((table) => commentStatements(files, table)),
  ];
  await transact(statements).catch(async (error: unknown) => {
    if (!isQueryError(error)) throw error;
    await database.transaction(() => runEach(database, files, statements));
  });
  await defineDeadlines(database, files, deadlines);
  await transact([
    files.read('warehouse/deadlines'),
    files.read('warehouse/schema_digest_clear'),
    fillParams(files.read('warehouse/schema_digest_set'), { digest }),
  ]);
  await database.run('checkpoint'); // a crash must not have to replay altered tables from the log
}

/** Where one fails, the error names the line of a file, and not that of the text of all. */
async function runEach(database: Database, files: SqlFiles, statements: readonly string[]): Promise<void> {
  for (const sql of statements) {
    await database.script(sql).catch((error: unknown) => {
      throw blameOwn(files, error, sql);
    });
  }
}

/** Tables, views and macros, in the order of their dependencies. */
function renderSchema(files: SqlFiles, tables: readonly Table[], policy: readonly PolicyRow[]): readonly string[] {
  const parts = { scope: '', policy: policyPart(policy) };
  const render = (when: string) => listDefinitions(files, when).map((name) => files.render(`warehouse/${name}`, parts));
  return [
    ...tables.flatMap((table) => tableStatements(files, table)),
    ...render('before the views'),
    ...tables.flatMap((table) => viewStatements(files, table)),
    ...renderChangesViews(files, tables),
    ...render('after the views'),
  ];
}

/** What this migration adds to a warehouse with pulls. */
async function findAdditions(database: Database, files: SqlFiles, tables: readonly Table[], current: Columns) {
  const [last] = current.has('pulls') ? await database.rows(files.read('warehouse/last_pull_at')) : [];
  if (typeof last?.as_of !== 'string') return [];
  const after = last.as_of;
  return tables.flatMap((table): Addition[] => {
    if (!table.source) return [];
    if (!current.has(historyTable(table))) return [{ table: table.name, column: null, after }];
    const missing = findMissing(current, historyTable(table), table.columns);
    return missing.map(({ name }) => ({ table: table.name, column: name, after }));
  });
}

/** Of a table with a list column, also the statements that create the member table and the history view. */
function tableStatements(files: SqlFiles, table: Table): readonly string[] {
  const ddl = table.ddl.replace(`${table.name}_history`, historyTable(table));
  if (!table.members) return [ddl];
  const types = new Map(table.columns.map(({ name, type }) => [name, type]));
  const keyColumns = ['target', ...table.key].map((name) => `${quoteIdent(name)} ${types.get(name)}`).join(',\n  ');
  const sameMember = sameKey(table, 'member', 'version');
  const list = files.render('warehouse/list_value', { table: table.name, sameKey: sameMember });
  const columnsWithList = table.columns
    .map(({ name }) => (name === table.members ? `(${list}) as ${quoteIdent(name)}` : `version.${quoteIdent(name)}`))
    .join(',\n  ');
  return [
    ddl,
    files.render('warehouse/list_table', { table: table.name, keyColumns }),
    files.render('warehouse/list_history', { table: table.name, columnsWithList }),
  ];
}

/** The columns that a table lacks, if there is such a table. */
function findMissing(current: Columns, table: string, columns: readonly Column[]): readonly Column[] {
  const existing = current.get(table);
  return existing ? columns.filter(({ name }) => !existing.has(name)) : [];
}

/** Adds what existing tables have not. Columns that were added to the key of a table are added to its members as well. */
function addColumns(files: SqlFiles, table: Table, current: Columns): readonly string[] {
  const add = (to: string, columns: readonly Column[]) =>
    findMissing(current, to, columns).map(({ name, type }) =>
      files.render('warehouse/add_column', { table: quoteIdent(to), column: quoteIdent(name), type }),
    );
  const keys = table.columns.filter(({ name }) => table.key.includes(name));
  return [...add(historyTable(table), table.columns), ...(table.members ? add(`${table.name}_members`, keys) : [])];
}

/** None for a log. */
function viewStatements(files: SqlFiles, table: Table): readonly string[] {
  if (!table.source) return [];
  const parts = {
    table: table.name,
    columns: columnList(table),
    qualified: columnList(table, 'h.'),
    source: quoteLiteral(table.source),
  };
  return VIEWS.map((name) => files.render(`warehouse/${name}`, parts));
}

function commentStatements(files: SqlFiles, table: Table): readonly string[] {
  const comment = (kind: 'table' | 'view', name: string, text: string): readonly string[] => [
    files.render('warehouse/comment_on_table', { kind, table: quoteIdent(name), text: quoteLiteral(text) }),
    ...table.columns.map((column) => {
      const parts = { table: quoteIdent(name), column: quoteIdent(column.name), text: quoteLiteral(column.comment) };
      return files.render('warehouse/comment_on_column', parts);
    }),
  ];
  if (!table.source) return comment('table', table.name, table.grain);
  const history = `History of ${table.name}: every version of ${table.grain}`;
  return [
    ...comment('view', table.name, table.grain),
    ...comment(table.members ? 'view' : 'table', `${table.name}_history`, history),
    ...(table.members ? comment('table', historyTable(table), `Stored form of ${table.name}_history; query that`) : []),
  ];
}
