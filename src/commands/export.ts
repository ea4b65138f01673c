import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { Context } from '../core/context.ts';
import { exportWarehouse } from '../warehouse/export.ts';
import { readConfig } from './options.ts';
import { plural, writeResult } from './output.ts';

interface Options {
  readonly format: string;
  readonly out: string;
}

export function registerExport(program: Command, context: () => Context): void {
  program
    .command('export')
    .description('export the warehouse with its history as Parquet: DIR/TABLE/data.parquet and DIR/manifest.json')
    .addOption(new Option('--format <format>', 'file format').choices(['parquet']).default('parquet'))
    .requiredOption('--out <dir>', 'folder; existing table folders in it are replaced')
    .action((options: Options) => runExport(context(), options));
}

async function runExport(context: Context, { out }: Options): Promise<void> {
  const folder = resolve(context.cwd, out);
  const tables = await exportWarehouse(readConfig(context), folder, ({ table, rows }) =>
    context.log.info(`${table}: ${plural(rows, 'row')}`),
  );
  writeResult(context, { out: folder, tables }, () => `${plural(tables.length, 'table')} in ${folder}\n`);
}
