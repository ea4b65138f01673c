import { createHash } from 'node:crypto';
import type { Database } from './database.ts';
import { createMembers } from './members.ts';
import { literal, quoted, type SqlFiles } from './sql-files.ts';
import { columnList, storedName, type Table } from './tables.ts';

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
 * Brings a warehouse to the declared tables: creates what is missing, adds new columns, makes the views, macros and comments
 * anew. Does nothing when the definitions are those of the last time.
 */
export async function migrate(database: Database, files: SqlFiles, tables: ReadonlyMap<string, Table>): Promise<void> {
  const digest = await digestOf(files, tables);
  await database.run(await files.text('warehouse/schema_digest_table'));
  const [current] = await database.rows(await files.text('warehouse/schema_digest'));
  if (current?.digest === digest) return;

  await database.transaction(async () => {
    for (const table of tables.values()) await createTable(database, files, table);
    await database.run(await files.text('warehouse/source_state_at'));
    await database.run(await files.text('warehouse/source_state'));
    for (const table of tables.values()) if (table.source) await createViews(database, files, table);
    for (const table of tables.values()) await comment(database, files, table);
    await database.run(await files.text('warehouse/schema_digest_clear'));
    await database.run(await files.text('warehouse/schema_digest_set'), { digest });
  });
  await database.run('checkpoint'); // altered tables must not stand in a log that a crash would have to replay
}

async function digestOf(files: SqlFiles, tables: ReadonlyMap<string, Table>): Promise<string> {
  const hash = createHash('sha256');
  for (const table of tables.values()) hash.update(table.ddl);
  for (const name of TEMPLATES) hash.update(await files.text(`warehouse/${name}`));
  return hash.digest('hex');
}

async function createTable(database: Database, files: SqlFiles, table: Table): Promise<void> {
  await database.run(table.ddl.replace(`${table.name}_history`, storedName(table)));
  const rows = await database.rows(await files.text('warehouse/columns'), { table: storedName(table) });
  const present = new Set(rows.map(({ name }) => name));
  for (const { name, type } of table.columns.filter((column) => !present.has(column.name))) {
    const parts = { table: quoted(storedName(table)), column: quoted(name), type };
    await database.run(await files.filled('warehouse/add_column', parts));
  }
  if (table.members) await createMembers(database, files, table);
}

async function createViews(database: Database, files: SqlFiles, table: Table): Promise<void> {
  const parts = {
    table: table.name,
    columns: columnList(table),
    qualified: columnList(table, 'h.'),
    source: literal(table.source ?? ''),
  };
  for (const template of ['present', 'at', 'before'] as const) {
    await database.run(await files.filled(`warehouse/${template}`, parts));
  }
}

async function comment(database: Database, files: SqlFiles, table: Table): Promise<void> {
  const describe = async (kind: 'table' | 'view', name: string, text: string) => {
    const parts = { kind, table: quoted(name), text: literal(text) };
    await database.run(await files.filled('warehouse/comment_on_table', parts));
    for (const column of table.columns) {
      const place = { table: quoted(name), column: quoted(column.name), text: literal(column.comment) };
      await database.run(await files.filled('warehouse/comment_on_column', place));
    }
  };
  if (!table.source) return describe('table', table.name, table.grain);
  await describe('view', table.name, table.grain);
  const history = `History of ${table.name}: every version of ${table.grain}`;
  await describe(table.members ? 'view' : 'table', `${table.name}_history`, history);
  if (table.members) await describe('table', storedName(table), `Stored form of ${table.name}_history; query that`);
}
