import { createHash } from 'node:crypto';
import type { Thresholds } from '../config/config.ts';
import type { PolicyRow } from '../config/policy.ts';
import { renderChangesViews } from './changes.ts';
import type { Database } from './database.ts';
import { DEFAULT_THRESHOLDS, defineDeadlines, renderDeadlines } from './deadlines.ts';
import { listColumnStatements } from './list-columns.ts';
import { type Columns, readAdditions, readColumns, withAdditions } from './present-tables.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from './sql-files.ts';
import { fillParams } from './sql-params.ts';
import { type Addition, type Column, columnList, historyTable, type Table } from './tables.ts';

/** What pages, mails and queries ask for what changed, in the order in which one calls another. */
const DEFINITIONS = [
  'previous_run_at',
  'finding_states_at',
  'workspace_assessments',
  'workspace_changes',
  'resource_nights',
  'resources_by',
  'workspace_use_at',
] as const;

/** The definitions for the warehouse, or for one connection to a warehouse that an earlier version wrote. */
export function renderDefinitions(files: SqlFiles, scope: '' | 'temp ' = ''): Promise<readonly string[]> {
  return Promise.all(
    DEFINITIONS.map((name) => {
      const kind = `${scope}${name === 'workspace_assessments' ? 'view' : 'macro'}`;
      return files.render(`warehouse/${name}`, { kind });
    }),
  );
}

/** The view `version_policy`. @param scope `temp ` for one connection, before what the warehouse has */
export function renderPolicy(files: SqlFiles, policy: readonly PolicyRow[], scope: '' | 'temp ' = ''): Promise<string> {
  const parts = { kind: `${scope}view`, policy: quoteLiteral(JSON.stringify(policy)) };
  return files.render('warehouse/version_policy', parts);
}

/** Views and macros that belong to no single table, in the order of their dependencies. */
const SHARED = [
  'history_reaches',
  'interrupted_runs',
  'source_state_at',
  'source_state',
  'unknown_parts_at',
  'unknown_parts',
  'assessed_targets',
] as const;
/** Macros that also read-only sessions make, as temporary ones. */
const STORED_MACROS = ['semver_key', 'full_source'] as const;
/** Rendered for each table that a source fills. */
const VIEWS = ['current_view', 'as_of_macro', 'previous_macro'] as const;
/** Views and macros over the views of several tables. */
const COMBINED = [
  'certificates_at',
  'certificates',
  'lifecycle_at',
  'lifecycle',
  'version_support_at',
  'version_support',
  'versions_in_use_at',
  'versions_in_use',
] as const;

/**
 * Brings a warehouse to the declared tables: creates tables and columns, and replaces views, macros and comments. Does nothing when the
 * definitions are those of the last migration.
 * @param thresholds those of the view `deadlines`
 * @param policy the rows of the view `version_policy`
 */
export async function migrate(
  database: Database,
  files: SqlFiles,
  tables: ReadonlyMap<string, Table>,
  thresholds: Thresholds = DEFAULT_THRESHOLDS,
  policy: readonly PolicyRow[] = [],
): Promise<void> {
  const deadlines = await renderDeadlines(files, thresholds);
  const calendar = await files.read('warehouse/deadlines');
  const declared = [...tables.values()];
  // The text of a table has its comments.
  const parts = [deadlines, calendar, declared.map(({ ddl }) => ddl), await renderSchema(files, declared, policy)];
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  await database.run(await files.read('warehouse/schema_digest_table'));
  const [last] = await database.rows(await files.read('warehouse/schema_digest'));
  if (last?.digest === digest) return;
  const current = await readColumns({ database, files });
  const added = await findAdditions(database, files, declared, current);
  const all = withAdditions(declared, [...(await readAdditions({ database, files }, current)), ...added]);
  const transact = (texts: readonly string[]) =>
    database.transact(texts.map((sql) => `${sql.trim().replace(/;$/u, '')};`));
  // About 800: one by one they would take five times as long.
  await transact([
    ...(await Promise.all(all.flatMap((table) => addColumns(files, table, current)))),
    ...(await renderSchema(files, all, policy)),
    ...(await Promise.all(added.map((addition) => renderAddition(files, addition)))),
    ...(await Promise.all(all.flatMap((table) => commentStatements(files, table)))),
  ]);
  await defineDeadlines(database, files, deadlines);
  await transact([
    calendar,
    await files.read('warehouse/schema_digest_clear'),
    fillParams(await files.read('warehouse/schema_digest_set'), { digest }),
  ]);
  await database.run('checkpoint'); // a crash must not have to replay altered tables from the log
}

/** Tables, views and macros, in the order of their dependencies. */
async function renderSchema(
  files: SqlFiles,
  tables: readonly Table[],
  policy: readonly PolicyRow[],
): Promise<readonly string[]> {
  const read = (names: readonly string[]) => Promise.all(names.map((name) => files.read(`warehouse/${name}`)));
  const sourced = tables.filter(({ source }) => source);
  return [
    ...(await Promise.all(tables.map((table) => tableStatements(files, table)))).flat(),
    ...(await read(SHARED)),
    ...(await Promise.all(sourced.flatMap((table) => viewStatements(files, table)))),
    ...(await Promise.all(STORED_MACROS.map((name) => files.render(`warehouse/${name}`, { kind: 'macro' })))),
    await renderPolicy(files, policy),
    ...(await read(COMBINED)),
    ...(await renderChangesViews(files, tables)),
    ...(await renderDefinitions(files)),
  ];
}

/** What this migration adds to a warehouse with pulls. */
async function findAdditions(
  database: Database,
  files: SqlFiles,
  tables: readonly Table[],
  current: Columns,
): Promise<readonly Addition[]> {
  const [last] = current.has('pulls') ? await database.rows(await files.read('warehouse/last_pull_at')) : [];
  if (typeof last?.as_of !== 'string') return [];
  const after = last.as_of;
  return tables.flatMap((table): Addition[] => {
    const existing = current.get(historyTable(table));
    if (!table.source) return [];
    if (!existing) return [{ table: table.name, column: null, after }];
    const missing = table.columns.filter(({ name }) => !existing.has(name));
    return missing.map(({ name }) => ({ table: table.name, column: name, after }));
  });
}

function renderAddition(files: SqlFiles, { table, column, after }: Addition): Promise<string> {
  return files.render('warehouse/record_addition', {
    table: quoteLiteral(table),
    column: column === null ? 'null' : quoteLiteral(column),
    after: quoteLiteral(after),
  });
}

async function tableStatements(files: SqlFiles, table: Table): Promise<readonly string[]> {
  const ddl = table.ddl.replace(`${table.name}_history`, historyTable(table));
  return table.members ? [ddl, ...(await listColumnStatements(files, table))] : [ddl];
}

/** Adds what existing tables have not. Columns that were added to the key of a table are added to its members as well. */
function addColumns(files: SqlFiles, table: Table, current: Columns): readonly Promise<string>[] {
  const add = (to: string, columns: readonly Column[]) => {
    const existing = current.get(to);
    const missing = existing ? columns.filter(({ name }) => !existing.has(name)) : [];
    return missing.map(({ name, type }) =>
      files.render('warehouse/add_column', { table: quoteIdent(to), column: quoteIdent(name), type }),
    );
  };
  const keys = table.columns.filter(({ name }) => table.key.includes(name));
  return [...add(historyTable(table), table.columns), ...(table.members ? add(`${table.name}_members`, keys) : [])];
}

function viewStatements(files: SqlFiles, table: Table): readonly Promise<string>[] {
  const parts = {
    table: table.name,
    columns: columnList(table),
    qualified: columnList(table, 'h.'),
    source: quoteLiteral(table.source ?? ''),
  };
  return VIEWS.map((template) => files.render(`warehouse/${template}`, parts));
}

function commentStatements(files: SqlFiles, table: Table): readonly Promise<string>[] {
  const comment = (kind: 'table' | 'view', name: string, text: string): readonly Promise<string>[] => [
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
