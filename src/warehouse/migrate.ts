import { createHash } from 'node:crypto';
import type { Database } from './database.ts';
import { listColumnStatements } from './list-columns.ts';
import { quoteIdent, quoteLiteral, type SqlFiles } from './sql-files.ts';
import { columnList, historyTable, type Table } from './tables.ts';

const TEMPLATES = [
  'present',
  'at',
  'before',
  'source_state_at',
  'source_state',
  'members_table',
  'members_list',
  'members_history',
] as const;

/**
 * Brings a warehouse to the declared tables: creates what is missing, adds new columns, makes the views, macros and comments anew.
 * Does nothing when the definitions are those of the last time.
 * @returns what is left to do, and takes longest: all that only readers need. Where it is not done, the next call begins again.
 */
export async function migrate(
  database: Database,
  files: SqlFiles,
  tables: ReadonlyMap<string, Table>,
): Promise<() => Promise<void>> {
  const digest = await computeSchemaDigest(files, tables);
  await database.run(await files.read('warehouse/schema_digest_table'));
  const [current] = await database.rows(await files.read('warehouse/schema_digest'));
  if (current?.digest === digest) return async () => {};

  const present = await currentColumns(database, files);
  const all = [...tables.values()];
  await changeSchema(database, [
    ...(await Promise.all(all.map((table) => tableStatements(files, table, present.get(historyTable(table)))))).flat(),
    await files.read('warehouse/schema_digest_clear'),
  ]);
  return async () => {
    const statements = [
      await files.read('warehouse/source_state_at'),
      await files.read('warehouse/source_state'),
      ...(await Promise.all(all.filter(({ source }) => source).map((table) => viewStatements(files, table)))).flat(),
      ...(await Promise.all(all.map((table) => commentStatements(files, table)))).flat(),
    ];
    await changeSchema(database, statements, async () => {
      await database.run(await files.read('warehouse/schema_digest_set'), { digest });
    });
  };
}

/** Some eight hundred statements: sent as one text they cost a fifth of what they cost one by one. */
async function changeSchema(
  database: Database,
  statements: readonly string[],
  also: () => Promise<void> = async () => {},
): Promise<void> {
  await database.transaction(async () => {
    await database.connection.run(statements.map((sql) => `${sql.trim().replace(/;$/u, '')};`).join('\n'));
    await also();
  });
  await database.run('checkpoint'); // altered tables must not stand in a log that a crash would have to replay
}

async function computeSchemaDigest(files: SqlFiles, tables: ReadonlyMap<string, Table>): Promise<string> {
  const hash = createHash('sha256');
  for (const table of tables.values()) hash.update(table.ddl);
  for (const name of TEMPLATES) hash.update(await files.read(`warehouse/${name}`));
  return hash.digest('hex');
}

/** Columns that each table has now. */
async function currentColumns(database: Database, files: SqlFiles): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const present = new Map<string, Set<string>>();
  for (const { table, name } of await database.rows(await files.read('warehouse/columns'))) {
    const columns = present.get(String(table)) ?? new Set();
    present.set(String(table), columns.add(String(name)));
  }
  return present;
}

/** A table that is not there yet is created whole. */
async function tableStatements(
  files: SqlFiles,
  table: Table,
  present: ReadonlySet<string> | undefined,
): Promise<readonly string[]> {
  const missing = present ? table.columns.filter(({ name }) => !present.has(name)) : [];
  const added = missing.map(({ name, type }) =>
    files.render('warehouse/add_column', { table: quoteIdent(historyTable(table)), column: quoteIdent(name), type }),
  );
  return [
    table.ddl.replace(`${table.name}_history`, historyTable(table)),
    ...(await Promise.all(added)),
    ...(table.members ? await listColumnStatements(files, table) : []),
  ];
}

async function viewStatements(files: SqlFiles, table: Table): Promise<readonly string[]> {
  const parts = {
    table: table.name,
    columns: columnList(table),
    qualified: columnList(table, 'h.'),
    source: quoteLiteral(table.source ?? ''),
  };
  const templates = ['present', 'at', 'before'] as const;
  return Promise.all(templates.map((template) => files.render(`warehouse/${template}`, parts)));
}

async function commentStatements(files: SqlFiles, table: Table): Promise<readonly string[]> {
  const describe = (kind: 'table' | 'view', name: string, text: string): Promise<string>[] => [
    files.render('warehouse/comment_on_table', { kind, table: quoteIdent(name), text: quoteLiteral(text) }),
    ...table.columns.map((column) => {
      const place = { table: quoteIdent(name), column: quoteIdent(column.name), text: quoteLiteral(column.comment) };
      return files.render('warehouse/comment_on_column', place);
    }),
  ];
  if (!table.source) return Promise.all(describe('table', table.name, table.grain));
  const history = `History of ${table.name}: every version of ${table.grain}`;
  return Promise.all([
    ...describe('view', table.name, table.grain),
    ...describe(table.members ? 'view' : 'table', `${table.name}_history`, history),
    ...(table.members
      ? describe('table', historyTable(table), `Stored form of ${table.name}_history; query that`)
      : []),
  ]);
}
