import { resolve } from 'node:path';
import type { Context } from '../core/context.ts';
import { plural } from '../core/plural.ts';
import { exportWarehouse } from '../warehouse/export.ts';
import { readLocalConfig } from './options.ts';
import { writeResult } from './output.ts';

export interface ExportFlags {
  readonly format: string;
  readonly out: string;
}

export async function runExport(context: Context, { out }: ExportFlags): Promise<void> {
  const folder = resolve(context.cwd, out);
  const tables = await exportWarehouse(readLocalConfig(context), folder, ({ table, rows }) =>
    context.log.info(`${table}: ${plural(rows, 'row')}`),
  );
  writeResult(context, { out: folder, tables }, () => `${plural(tables.length, 'table')} in ${folder}\n`);
}
