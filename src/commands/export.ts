import { resolve } from 'node:path';
import type { Context } from '../core/context.ts';
import { exportWarehouse } from '../warehouse/export.ts';
import { readConfig } from './options.ts';
import { plural, writeResult } from './output.ts';

export interface ExportFlags {
  readonly format: string;
  readonly out: string;
}

export async function runExport(context: Context, { out }: ExportFlags): Promise<void> {
  const folder = resolve(context.cwd, out);
  const tables = await exportWarehouse(readConfig(context), folder, ({ table, rows }) =>
    context.log.info(`${table}: ${plural(rows, 'row')}`),
  );
  writeResult(context, { out: folder, tables }, () => `${plural(tables.length, 'table')} in ${folder}\n`);
}
