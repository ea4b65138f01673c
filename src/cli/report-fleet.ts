import { resolve } from 'node:path';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { overlayRoots } from '../core/paths.ts';
import { openLakeViews } from '../lake/ddl.ts';
import { withLakeStore } from '../lake/open-store.ts';
import { listFleetQueries, renderFleetReport } from '../run/fleet.ts';
import { toJsonText } from '../tell/reports/data.ts';
import { createSqlFiles } from '../warehouse/sql-files.ts';
import { readLocalConfig } from './options.ts';

export type ReportFlags = Readonly<Partial<Record<'asOf' | 'lake' | 'out', string>>>;

/** Renders the report of all organizations in a lake, and prints the paths of its files. */
export async function reportFleet(context: Context, names: readonly string[], flags: ReportFlags): Promise<void> {
  if (names.length > 1 || flags.asOf !== undefined) {
    throw new TidemarkError('USAGE', '`report fleet` shows the newest nights of a lake, and no other report', {
      hint: 'give `report fleet` alone, without --as-of',
    });
  }
  const config = readLocalConfig(context);
  const files = createSqlFiles(overlayRoots(config.directory));
  await withLakeStore(context, config, flags.lake, async (store) => {
    const database = await openLakeViews(store, files, config.memoryLimit, listFleetQueries(files));
    const out = flags.out === undefined ? config.output : resolve(context.cwd, flags.out);
    const generatedAt = context.clock.now();
    const report = await renderFleetReport({ database, files, out, generatedAt }).finally(database.close);
    if (context.json) context.stdout(toJsonText(report.data));
    else context.stdout(report.files.map((file) => `${resolve(out, file)}\n`).join(''));
  });
}
