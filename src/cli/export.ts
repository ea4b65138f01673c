import { resolve } from 'node:path';
import { Option } from 'commander';
import type { Context } from '../core/context.ts';
import { plural } from '../core/plural.ts';
import { exportWarehouse } from '../warehouse/export.ts';
import type { DefineCommand } from './define.ts';
import { readLocalConfig } from './options.ts';
import { writeResult } from './output.ts';

export const define: DefineCommand = (command) =>
  command
    .addOption(new Option('--format <format>', 'file format').choices(['parquet']).default('parquet'))
    .requiredOption('--out <dir>', 'folder; existing table folders in it are replaced')
    .runs(() => import('./export.ts'), 'runExport');

export async function runExport(context: Context, { out }: { readonly out: string }): Promise<void> {
  const folder = resolve(context.cwd, out);
  const tables = await exportWarehouse(readLocalConfig(context), folder, ({ table, rows }) =>
    context.log.info(`${table}: ${plural(rows, 'row')}`),
  );
  writeResult(context, { out: folder, tables }, () => `${plural(tables.length, 'table')} in ${folder}\n`);
}
