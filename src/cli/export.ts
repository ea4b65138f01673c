import { randomBytes } from 'node:crypto';
import { readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Option } from 'commander';
import type { Context } from '../core/context.ts';
import { hashFile, makeFolder, removePaths, SHARED_FOLDER, syncFolder, syncPath, writeFileAtomic } from '../core/fs.ts';
import { plural } from '../core/plural.ts';
import { acquireLock } from '../warehouse/lock.ts';
import { type OpenWarehouse, withPublished } from '../warehouse/session.ts';
import { quoteIdent, quoteLiteral } from '../warehouse/sql-files.ts';
import { loadTables } from '../warehouse/tables.ts';
import type { DefineCommand } from './define.ts';
import { readLocalConfig } from './options.ts';
import { resolveOutput, writeResult } from './output.ts';

export const define: DefineCommand = (command) =>
  command
    .addOption(new Option('--format <format>', 'file format').choices(['parquet']).default('parquet'))
    .requiredOption('--out <dir>', 'folder; existing table folders in it are replaced')
    .runs(() => import('./export.ts'), 'runExport');

type Relation = ReturnType<typeof listRelations>[number];
type ExportedTable = Readonly<Awaited<ReturnType<typeof exportRelation>>>;

/** Written last: an export folder without it is not complete. */
const MANIFEST = 'manifest.json';
/** Folders of an export that did not end. */
const STAGING = '.staging-';

/**
 * Exports the published warehouse: one sorted Parquet file for each table, `TABLE/data.parquet`, and a manifest. Each table
 * is replaced as a whole; other files in the folder stay.
 */
export async function runExport(context: Context, { out }: { readonly out: string }): Promise<void> {
  const config = readLocalConfig(context);
  const folder = resolveOutput(context, config, out);
  const tables = await withPublished(config, async (published) => {
    await makeFolder(folder, SHARED_FOLDER);
    // Two at once would put their tables among each other's.
    const lock = await acquireLock(join(folder, 'lock'), 'export', context.clock.now());
    return exportAll(context, published, folder).finally(() => lock.release());
  });
  writeResult(context, { out: folder, tables }, () => `${plural(tables.length, 'table')} in ${folder}\n`);
}

async function exportAll({ log }: Context, published: OpenWarehouse, folder: string) {
  const left = (await readdir(folder)).filter((name) => name.startsWith(STAGING));
  await removePaths(left.map((name) => join(folder, name)));
  const staging = join(folder, `${STAGING}${randomBytes(4).toString('hex')}`);
  const exported: ExportedTable[] = [];
  try {
    for (const relation of listRelations(published)) {
      const table = await exportRelation(published, staging, relation);
      log.info(`${table.table}: ${plural(table.rows, 'row')}`);
      exported.push(table);
    }
    await replaceTables(folder, staging, exported);
  } finally {
    await removePaths([staging]);
  }
  return exported;
}

/** Tables and views with the columns that their rows are sorted by, so that the statistics of a file let readers skip parts of it. */
function listRelations({ files }: OpenWarehouse) {
  const relations = [...loadTables(files).values()].flatMap(({ name, source, columns, key }) => {
    const order = [...(columns.some((column) => column.name === 'target') ? ['target'] : []), ...key];
    return [{ name, order }, ...(source ? [{ name: `${name}_history`, order: [...order, 'valid_from'] }] : [])];
  });
  return [...relations, { name: 'source_state', order: ['target', 'source'] }];
}

async function exportRelation({ database, files }: OpenWarehouse, staging: string, { name, order }: Relation) {
  const directory = join(staging, name);
  const path = join(directory, 'data.parquet');
  await makeFolder(directory, SHARED_FOLDER);
  const columns = await database.rows(files.render('warehouse/describe_table', { table: quoteIdent(name) }));
  const rows = await database.write(
    files.render('warehouse/export', {
      table: quoteIdent(name),
      columns: columns.map(selectItem).join(', '),
      order: order.map(quoteIdent).join(', ') || '1',
      file: quoteLiteral(path),
    }),
  );
  await syncPath(path);
  return {
    table: name,
    rows,
    /** Path within the export folder. */
    file: `${name}/data.parquet`,
    bytes: (await stat(path)).size,
    sha256: await hashFile(path),
  };
}

/** JSON as text, also in lists: readers disagree about the JSON type of Parquet. */
function selectItem({ column_name, column_type }: Readonly<Record<string, unknown>>): string {
  const column = quoteIdent(String(column_name));
  const type = String(column_type);
  return /^JSON(?:\[\])*$/u.test(type) ? `${column}::${type.replace('JSON', 'varchar')} as ${column}` : column;
}

/** The manifest goes first and comes back last, so that a reader who checks for it never takes half an export for a whole one. */
async function replaceTables(folder: string, staging: string, tables: readonly ExportedTable[]): Promise<void> {
  const manifest = join(folder, MANIFEST);
  const earlier = await readManifest(manifest);
  await rm(manifest, { force: true });
  const names = tables.map(({ table }) => table);
  for (const table of new Set([...names, ...earlier])) {
    await rm(join(folder, table), { recursive: true, force: true });
    if (names.includes(table)) await rename(join(staging, table), join(folder, table));
  }
  await syncFolder(folder);
  await writeFileAtomic(manifest, `${JSON.stringify({ version: 1, tables }, null, 2)}\n`);
}

/** Names of the tables of the earlier export; none if there is no manifest that can be read. */
async function readManifest(file: string): Promise<readonly string[]> {
  try {
    const { tables } = JSON.parse(await readFile(file, 'utf8')) as { readonly tables: readonly ExportedTable[] };
    return tables.map(({ table }) => table).filter((name) => /^\w+$/u.test(name));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return [];
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
