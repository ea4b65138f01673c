import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { hashFile, syncFolder, syncPath, writeFileAtomic } from '../core/fs.ts';
import { overlayRoots } from '../core/paths.ts';
import type { Database } from './database.ts';
import { openPublished } from './session.ts';
import { createSqlFiles, quoteIdent, quoteLiteral, type SqlFiles } from './sql-files.ts';
import { loadTables } from './tables.ts';

export interface ExportedTable {
  readonly table: string;
  readonly rows: number;
  /** Path within the export folder. */
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Written last: an export folder without it is not complete. */
const MANIFEST = 'manifest.json';
const MANIFEST_VERSION = 1;
/** Folders of an export that did not end. */
const STAGING = '.staging-';

interface ExportManifest {
  readonly version: number;
  readonly tables: readonly ExportedTable[];
}

/**
 * Exports the published warehouse: one sorted Parquet file for each table, `TABLE/data.parquet`, and a manifest. Each table
 * is replaced as a whole; other files in the folder stay.
 */
export async function exportWarehouse(
  config: Config,
  folder: string,
  onTable: (table: ExportedTable) => void,
): Promise<readonly ExportedTable[]> {
  const { database, files } = await openPublished(config);
  const staging = join(folder, `${STAGING}${randomBytes(4).toString('hex')}`);
  try {
    await mkdir(folder, { recursive: true });
    await removeStaging(folder);
    const exported: ExportedTable[] = [];
    for (const { name, order } of await listRelations(config)) {
      exported.push(await exportRelation(database, files, staging, name, order));
      onTable(exported.at(-1) as ExportedTable);
    }
    await replaceTables(folder, staging, exported);
    return exported;
  } finally {
    database.close();
    await rm(staging, { recursive: true, force: true });
  }
}

/** Tables and views with the columns that their rows are sorted by, so that the statistics of a file let readers skip parts of it. */
async function listRelations(config: Config): Promise<readonly { name: string; order: readonly string[] }[]> {
  const tables = [...(await loadTables(createSqlFiles(overlayRoots(config.directory)))).values()];
  const relations = tables.flatMap(({ name, source, columns, key }) => {
    const order = [...(columns.some((column) => column.name === 'target') ? ['target'] : []), ...key];
    return [{ name, order }, ...(source ? [{ name: `${name}_history`, order: [...order, 'valid_from'] }] : [])];
  });
  return [...relations, { name: 'source_state', order: ['target', 'source'] }];
}

async function exportRelation(
  database: Database,
  files: SqlFiles,
  staging: string,
  name: string,
  order: readonly string[],
): Promise<ExportedTable> {
  const directory = join(staging, name);
  const path = join(directory, 'data.parquet');
  await mkdir(directory, { recursive: true });
  const columns = await database.rows(await files.render('warehouse/describe_table', { table: quoteIdent(name) }));
  const [row] = await database.rows(
    await files.render('warehouse/export', {
      table: quoteIdent(name),
      columns: columns.map(selectItem).join(', '),
      order: order.map(quoteIdent).join(', ') || '1',
      file: quoteLiteral(path),
    }),
  );
  await syncPath(path);
  const { size } = await stat(path);
  const sha256 = await hashFile(path);
  return { table: name, rows: Number(row?.Count ?? 0), file: `${name}/data.parquet`, bytes: size, sha256 };
}

/** JSON as text, also in lists: readers disagree about the JSON type of Parquet. */
function selectItem({ column_name, column_type }: Readonly<Record<string, unknown>>): string {
  const column = quoteIdent(String(column_name));
  const type = String(column_type);
  return /^JSON(?:\[\])*$/u.test(type) ? `${column}::${type.replace('JSON', 'varchar')} as ${column}` : column;
}

/** The manifest goes first and comes back last, so that a reader who checks for it never takes half an export for a whole one. */
async function replaceTables(folder: string, staging: string, exported: readonly ExportedTable[]): Promise<void> {
  const manifest = join(folder, MANIFEST);
  const earlier = await readManifest(manifest);
  await rm(manifest, { force: true });
  const names = exported.map(({ table }) => table);
  for (const table of new Set([...names, ...earlier])) {
    await rm(join(folder, table), { recursive: true, force: true });
    if (names.includes(table)) await rename(join(staging, table), join(folder, table));
  }
  await syncFolder(folder);
  const content: ExportManifest = { version: MANIFEST_VERSION, tables: exported };
  await writeFileAtomic(manifest, `${JSON.stringify(content, null, 2)}\n`);
}

/** Names of the tables of the earlier export; none if there is no manifest that can be read. */
async function readManifest(file: string): Promise<readonly string[]> {
  try {
    const { tables } = JSON.parse(await readFile(file, 'utf8')) as ExportManifest;
    return tables.map(({ table }) => table).filter((name) => /^\w+$/u.test(name));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return [];
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function removeStaging(folder: string): Promise<void> {
  const left = (await readdir(folder)).filter((name) => name.startsWith(STAGING));
  for (const name of left) await rm(join(folder, name), { recursive: true, force: true });
}
