import type { Config } from '../../config/config.ts';
import { DAY_MS, HOUR_MS } from '../../core/clock.ts';
import type { Context } from '../../core/context.ts';
import { type StoreContext, withLakeStore } from '../../lake/open-store.ts';
import { readPublishedUntil } from '../../lake/publish.ts';

/**
 * The time from which on the history stays. Rules look back as far as their thresholds, and the lake takes from the history what it does
 * not have yet.
 * @returns undefined where everything stays
 * @throws TidemarkError as the lake
 */
export async function findHorizon(
  config: Config,
  context: StoreContext & Pick<Context, 'clock'>,
): Promise<Date | undefined> {
  const { historyDays, lake, thresholds } = config;
  if (historyDays === undefined) return undefined;
  const reach = Object.entries(thresholds).map(([name, value]) => (name.endsWith('Days') ? value : 0));
  const days = Math.max(historyDays, (thresholds.deadAgentHours * HOUR_MS) / DAY_MS, ...reach);
  const horizon = new Date(context.clock.now().getTime() - days * DAY_MS);
  if (lake === undefined) return horizon;
  const until = await withLakeStore(context, config, undefined, (store) => readPublishedUntil(config, store));
  return until !== undefined && until > horizon ? horizon : until;
}
