import { resolve } from 'node:path';
import { type Config, getTarget, loadConfig, parseShard } from '../config/config.ts';
import { readTimeZone } from '../config/job.ts';
import type { Context } from '../core/context.ts';
import type { PlaybookSummary } from '../tell/findings/guide.ts';
import { resolveMoment } from '../warehouse/moment.ts';
import type { OpenWarehouse } from '../warehouse/session.ts';

/** The configuration that `--config` names, or the part of it that `--shard` names. */
export function readConfig({ cwd, configFile, env, redactor, shard }: Context, needsSecrets = true): Config {
  const part = shard ? parseShard(shard) : undefined;
  return loadConfig(resolve(cwd, configFile), env, redactor, { needsSecrets, shard: part });
}

/** The same for a command that only reads the warehouse: it needs no token. */
export function readLocalConfig(context: Context): Config {
  return readConfig(context, false);
}

/** The names, if all are configured targets. @throws TidemarkError USAGE naming the closest match. */
export function assertTargets(config: Config, names: readonly string[]): readonly string[] {
  return names.map((name) => getTarget(config, name).name);
}

type Timing = Pick<Context, 'clock' | 'env'>;

/** The moment that an option or argument names (`resolveMoment`), in an open warehouse. */
export async function readMoment({ clock, env }: Timing, config: Config, open: OpenWarehouse, text: string) {
  const timeZone = await readTimeZone(config, env);
  return resolveMoment(text, { rows: open.database.rows, files: open.files, now: clock.now(), timeZone });
}

/** The same in the published warehouse, which a query then opens in a process of its own. */
export async function readPublishedMoment(context: Timing, config: Config, text: string) {
  // Loads the database, which `sql` and the shell need here alone.
  const { withPublished } = await import('../warehouse/session.ts');
  return withPublished(config, (published) => readMoment(context, config, published, text));
}

/**
 * The time of what is shown. `asOf`: that of the last pull, or of the last one before the moment that an option names. Ages count up to it:
 * nobody has asked the services since, and a day ends long after its pull. `at`: the moment, or now. It decides whether the pull is stale.
 */
export async function readShownTime(context: Timing, config: Config, published: OpenWarehouse, text?: string) {
  if (text !== undefined) {
    const { at, run } = await readMoment(context, config, published, text);
    return { asOf: run.as_of, at };
  }
  const now = context.clock.now();
  const [latest] = await published.database.rows(published.files.read('warehouse/latest_as_of'));
  return { asOf: typeof latest?.latest === 'string' ? new Date(latest.latest) : now, at: now };
}

/** The configuration and all playbooks. */
export async function readPlaybooks(context: Context) {
  const config = readConfig(context);
  const [{ loadDefinitions }] = await loadPlaybookModules();
  const { playbooks } = await loadDefinitions(config);
  return { config, playbooks };
}

/** What pages and mail say of the playbooks. */
export async function listPlaybooks(config: Config): Promise<readonly PlaybookSummary[]> {
  const [{ loadDefinitions }, { summarizePlaybooks }] = await loadPlaybookModules();
  return summarizePlaybooks((await loadDefinitions(config, {}, () => false)).playbooks);
}

/** On demand, because the playbooks load the operations of every service. */
export const loadPlaybookModules = () => Promise.all([import('../run/plugins/index.ts'), import('../act/registry.ts')]);
