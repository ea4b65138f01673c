import type { Config } from '../config/config.ts';
import { readTimeZone } from '../config/job.ts';
import type { Context } from '../core/context.ts';
import type { Database } from '../warehouse/database.ts';
import { type Moment, resolveMoment } from '../warehouse/moment.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';

/** The moment that an option or argument names (`resolveMoment`), in an open warehouse. */
export async function readMoment(
  { clock, env }: Pick<Context, 'clock' | 'env'>,
  config: Config,
  { database, files }: { readonly database: Pick<Database, 'rows'>; readonly files: SqlFiles },
  text: string,
): Promise<Moment> {
  const timeZone = await readTimeZone(config, env);
  return resolveMoment(text, { rows: database.rows, files, now: clock.now(), timeZone });
}

/** The same in the published warehouse, which a query then opens in a process of its own. */
export async function readPublishedMoment(
  context: Pick<Context, 'clock' | 'env'>,
  config: Config,
  text: string,
): Promise<Moment> {
  // Loads the database, which `sql` and the shell need here alone.
  const { withPublished } = await import('../warehouse/session.ts');
  return withPublished(config, (published) => readMoment(context, config, published, text));
}
