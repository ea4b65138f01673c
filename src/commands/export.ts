import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { loadConfig } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { searchPath } from '../core/paths.ts';
import type { Database } from '../warehouse/database.ts';
import { openPublished } from '../warehouse/session.ts';
import { literal, quoted, type SqlFiles, sqlFiles } from '../warehouse/sql-files.ts';
import { loadTables, type Table } from '../warehouse/tables.ts';

interface Options {
  readonly format: string;
  readonly out: string;
}

export function registerExport(program: Command, context: () => Context): void {
  program
    .command('export')
    .description('the warehouse, history included, as Hive-partitioned Parquet: DIR/TABLE/target=NAME/…')
    .addOption(new Option('--format <format>', 'file format').choices(['parquet']).default('parquet'))
    .requiredOption('--out <dir>', 'folder; the folders of the tables in it are replaced')
    .action((options: Options) => exportAll(context(), options));
}

async function exportAll(context: Context, { out }: Options): Promise<void> {
  const config = loadConfig(resolve(context.cwd, context.configFile), context.env, context.redactor);
  const { database, files } = await openPublished(config);
  const folder = resolve(context.cwd, out);
  const written: { table: string; rows: number }[] = [];
  try {
    await mkdir(folder, { recursive: true });
    const tables = [...(await loadTables(sqlFiles(searchPath(config.directory)))).values()];
    for (const table of tables) {
      for (const name of table.source ? [table.name, `${table.name}_history`] : [table.name]) {
        const rows = await exportTable(database, files, { name, partitioned: isOfTargets(table), folder });
        written.push({ table: name, rows });
        context.log.info(`${name}: ${rows} rows`);
      }
    }
  } finally {
    database.close();
  }
  context.stdout(
    context.json
      ? `${JSON.stringify({ out: folder, tables: written }, null, 2)}\n`
      : `${written.length} tables in ${folder}\n`,
  );
}

function isOfTargets({ columns }: Table): boolean {
  return columns.some(({ name }) => name === 'target');
}

/** @returns the number of rows written. */
async function exportTable(
  database: Database,
  files: SqlFiles,
  { name, partitioned, folder }: { readonly name: string; readonly partitioned: boolean; readonly folder: string },
): Promise<number> {
  const place = join(folder, name);
  if (!partitioned) await mkdir(place, { recursive: true });
  const sql = partitioned
    ? await files.filled('warehouse/export', { table: quoted(name), folder: literal(place) })
    : await files.filled('warehouse/export_whole', {
        table: quoted(name),
        file: literal(join(place, 'data_0.parquet')),
      });
  const [row] = await database.rows(sql);
  return Number(row?.Count ?? 0);
}
