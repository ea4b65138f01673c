import { createHash } from 'node:crypto';
import type { Thresholds } from '../config/config.ts';
import type { PolicyRow } from '../config/policy.ts';
import { readAdditions, renderChangesViews, withAdditions } from './changes.ts';
import type { Database } from './database.ts';
import { DEFAULT_THRESHOLDS, defineDeadlines, renderDeadlines } from './deadlines.ts';
import { listColumnStatements } from './list-columns.ts';
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
const TEMPLATES = [
  ...SHARED,
  ...VIEWS,
  ...COMBINED,
  ...DEFINITIONS,
  ...STORED_MACROS,
  'version_policy',
  'list_table',
  'list_value',
  'list_history',
  'deadlines',
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
  const digest = await computeSchemaDigest(files, tables, JSON.stringify([deadlines, policy]));
  await database.run(await files.read('warehouse/schema_digest_table'));
  const [last] = await database.rows(await files.read('warehouse/schema_digest'));
  if (last?.digest === digest) return;
  const current = await currentColumns(database, files);
  const added = await findAdditions(database, files, tables, current);
  const known = current.has('additions') ? await readAdditions({ database, files }) : [];
  const all = withAdditions([...tables.values()], [...known, ...added]);
  const render = async (toStatements: (table: Table) => Promise<readonly string[]>, some = all) =>
    (await Promise.all(some.map(toStatements))).flat();
  const statements = [
    ...(await render((table) => tableStatements(files, table, current))),
    ...(await Promise.all(added.map((addition) => renderAddition(files, addition)))),
    ...(await Promise.all(SHARED.map((name) => files.read(`warehouse/${name}`)))),
    ...(await render(
      (table) => viewStatements(files, table),
      all.filter(({ source }) => source),
    )),
    ...(await Promise.all(STORED_MACROS.map((name) => files.render(`warehouse/${name}`, { kind: 'macro' })))),
    await renderPolicy(files, policy),
    ...(await Promise.all(COMBINED.map((name) => files.read(`warehouse/${name}`)))),
    ...(await renderChangesViews(files, all)),
    ...(await renderDefinitions(files)),
    ...(await render((table) => commentStatements(files, table))),
  ];
  const transact = (texts: readonly string[]) =>
    database.transact(texts.map((sql) => `${sql.trim().replace(/;$/u, '')};`));
  await transact(statements); // about 800: one by one they would take five times as long
  await defineDeadlines(database, files, deadlines);
  await transact([
    await files.read('warehouse/deadlines'),
    await files.read('warehouse/schema_digest_clear'),
    fillParams(await files.read('warehouse/schema_digest_set'), { digest }),
  ]);
  await database.run('checkpoint'); // a crash must not have to replay altered tables from the log
}

async function computeSchemaDigest(
  files: SqlFiles,
  tables: ReadonlyMap<string, Table>,
  values: string,
): Promise<string> {
  const hash = createHash('sha256').update(values);
  for (const table of tables.values()) hash.update(table.ddl);
  for (const name of TEMPLATES) hash.update(await files.read(`warehouse/${name}`));
  for (const view of await renderChangesViews(files, [...tables.values()])) hash.update(view);
  return hash.digest('hex');
}

type Columns = ReadonlyMap<string, ReadonlySet<string>>;

/** The columns that each table has now. */
async function currentColumns(database: Database, files: SqlFiles): Promise<Columns> {
  const current = new Map<string, Set<string>>();
  for (const { table, name } of await database.rows(await files.read('warehouse/columns'))) {
    const columns = current.get(String(table)) ?? new Set();
    current.set(String(table), columns.add(String(name)));
  }
  return current;
}

/** What this migration adds to a warehouse with pulls. */
async function findAdditions(
  database: Database,
  files: SqlFiles,
  tables: ReadonlyMap<string, Table>,
  current: Columns,
): Promise<readonly Addition[]> {
  const [last] = current.has('pulls') ? await database.rows(await files.read('warehouse/last_pull_at')) : [];
  if (typeof last?.as_of !== 'string') return [];
  const after = last.as_of;
  return [...tables.values()].flatMap((table): Addition[] => {
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

async function tableStatements(files: SqlFiles, table: Table, current: Columns): Promise<readonly string[]> {
  const name = historyTable(table);
  return [
    ...(await addColumns(files, name, table.columns, current)),
    table.ddl.replace(`${table.name}_history`, name),
    ...(table.members ? await memberStatements(files, table, current) : []),
  ];
}

/** Adds what an existing table has not. */
function addColumns(
  files: SqlFiles,
  to: string,
  columns: readonly Column[],
  current: Columns,
): Promise<readonly string[]> {
  const existing = current.get(to);
  const missing = existing ? columns.filter(({ name }) => !existing.has(name)) : [];
  return Promise.all(
    missing.map(({ name, type }) =>
      files.render('warehouse/add_column', { table: quoteIdent(to), column: quoteIdent(name), type }),
    ),
  );
}

/** Key columns that were added to a table are added to its member table as well. */
async function memberStatements(files: SqlFiles, table: Table, current: Columns): Promise<readonly string[]> {
  const keys = table.columns.filter(({ name }) => table.key.includes(name));
  const added = await addColumns(files, `${table.name}_members`, keys, current);
  return [...added, ...(await listColumnStatements(files, table))];
}

async function viewStatements(files: SqlFiles, table: Table): Promise<readonly string[]> {
  const parts = {
    table: table.name,
    columns: columnList(table),
    qualified: columnList(table, 'h.'),
    source: quoteLiteral(table.source ?? ''),
  };
  return Promise.all(VIEWS.map((template) => files.render(`warehouse/${template}`, parts)));
}

async function commentStatements(files: SqlFiles, table: Table): Promise<readonly string[]> {
  const comment = (kind: 'table' | 'view', name: string, text: string): Promise<string>[] => [
    files.render('warehouse/comment_on_table', { kind, table: quoteIdent(name), text: quoteLiteral(text) }),
    ...table.columns.map((column) => {
      const parts = { table: quoteIdent(name), column: quoteIdent(column.name), text: quoteLiteral(column.comment) };
      return files.render('warehouse/comment_on_column', parts);
    }),
  ];
  if (!table.source) return Promise.all(comment('table', table.name, table.grain));
  const history = `History of ${table.name}: every version of ${table.grain}`;
  return Promise.all([
    ...comment('view', table.name, table.grain),
    ...comment(table.members ? 'view' : 'table', `${table.name}_history`, history),
    ...(table.members ? comment('table', historyTable(table), `Stored form of ${table.name}_history; query that`) : []),
  ]);
}
