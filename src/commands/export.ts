import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { loadConfig } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { searchPath } from '../core/paths.ts';
import { openPublished } from '../warehouse/session.ts';
import { literal, quoted, sqlFiles } from '../warehouse/sql-files.ts';
import { loadTables } from '../warehouse/tables.ts';

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
    for (const name of tables.flatMap(({ name: table, source }) => (source ? [table, `${table}_history`] : [table]))) {
      const parts = { table: quoted(name), folder: literal(join(folder, name)) };
      const [row] = await database.rows(await files.filled('warehouse/export', parts));
      written.push({ table: name, rows: Number(row?.Count ?? 0) });
      context.log.info(`${name}: ${row?.Count ?? 0} rows`);
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
