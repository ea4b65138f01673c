import type { Config } from '../config/config.ts';
import type { JobContext } from '../core/context.ts';
import { formatError } from '../core/errors.ts';
import { plural } from '../core/plural.ts';
import { withLakeStore } from '../lake/open-store.ts';
import { publishToLake } from '../lake/publish.ts';

/** The publish of a run to the lake, as in the JSON output. */
export type LakeResult = Readonly<NonNullable<Awaited<ReturnType<typeof lakeStage>>>>;

/**
 * Publishes a run that has ended to the lake of the configuration. The warehouse has the run already, so that a failure of any kind is
 * shown and loses nothing.
 * @returns null without a lake. `publish`: its number; null if it failed, or the lake had everything already. `problem`: why the lake does
 * not have the run, which the next publish adds; null if it has.
 */
export async function lakeStage(config: Config, context: JobContext) {
  if (config.lake === undefined) return null;
  const { clock, log, env } = context;
  try {
    const { publish, tables } = await withLakeStore(context, config, (store) =>
      publishToLake({ config, store, now: clock.now(), run: env.TIDEMARK_RUN }),
    );
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    log.info(`lake: ${plural(rows, 'row')} published`);
    return { publish, rows, problem: null };
  } catch (error) {
    log.error(`lake: ${formatError(error)}`);
    return { publish: null, rows: 0, problem: formatError(error) };
  }
}
