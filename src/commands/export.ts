import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { Context } from '../core/context.ts';
import { overlayRoots } from '../core/paths.ts';
import type { Database } from '../warehouse/database.ts';
import { openPublished } from '../warehouse/session.ts';
import { createSqlFiles, quoteIdent, quoteLiteral, type SqlFiles } from '../warehouse/sql-files.ts';
import { loadTables, type Table } from '../warehouse/tables.ts';
import { readConfig } from './options.ts';
import { writeResult } from './output.ts';

interface Options {
  readonly format: string;
  readonly out: string;
}

export function registerExport(program: Command, context: () => Context): void {
  program
    .command('export')
    .description('export the warehouse with its history as Hive-partitioned Parquet: DIR/TABLE/target=NAME/…')
    .addOption(new Option('--format <format>', 'file format').choices(['parquet']).default('parquet'))
    .requiredOption('--out <dir>', 'folder; existing table folders in it are replaced')
    .action((options: Options) => exportAll(context(), options));
}

async function exportAll(context: Context, { out }: Options): Promise<void> {
  const config = readConfig(context);
  const { database, files } = await openPublished(config);
  const folder = resolve(context.cwd, out);
  const written: { table: string; rows: number }[] = [];
  try {
    await mkdir(folder, { recursive: true });
    const tables = [...(await loadTables(createSqlFiles(overlayRoots(config.directory)))).values()];
    for (const table of tables) {
      for (const name of table.source ? [table.name, `${table.name}_history`] : [table.name]) {
        const rows = await exportTable(database, files, { name, isPartitioned: hasTarget(table), folder });
        written.push({ table: name, rows });
        context.log.info(`${name}: ${rows} rows`);
      }
    }
  } finally {
    database.close();
  }
  writeResult(context, { out: folder, tables: written }, () => `${written.length} tables in ${folder}\n`);
}

function hasTarget({ columns }: Table): boolean {
  return columns.some(({ name }) => name === 'target');
}

/** Returns the number of rows written. */
async function exportTable(
  database: Database,
  files: SqlFiles,
  { name, isPartitioned, folder }: { readonly name: string; readonly isPartitioned: boolean; readonly folder: string },
): Promise<number> {
  const directory = join(folder, name);
  if (!isPartitioned) await mkdir(directory, { recursive: true });
  const sql = isPartitioned
    ? await files.render('warehouse/export', { table: quoteIdent(name), folder: quoteLiteral(directory) })
    : await files.render('warehouse/export_whole', {
        table: quoteIdent(name),
        file: quoteLiteral(join(directory, 'data_0.parquet')),
      });
  const [row] = await database.rows(sql);
  return Number(row?.Count ?? 0);
}
