import type { Config } from '../config/config.ts';
import { unknownName } from '../config/suggest.ts';
import type { Context } from '../core/context.ts';
import { overlayRoots } from '../core/paths.ts';
import { readPlanned } from '../extract/resume.ts';
import type { Pull } from '../extract/run-context.ts';
import type { SourceDefinition } from '../extract/sources/source.ts';
import { readLanding } from '../landing/store.ts';
import { loadDefinitions } from '../run/plugins/index.ts';
import { assertPulls, runPulls, selectPulls } from '../run/pull.ts';
import { exitCode, listFailures, pullKey } from '../run/run.ts';
import { createSqlFiles } from '../warehouse/sql-files.ts';
import { loadTables } from '../warehouse/tables.ts';
import type { DefineCommand, Lists, Switches, Texts } from './define.ts';
import { assertTargets, readConfig } from './options.ts';
import { formatRunSummary, writeResult } from './output.ts';

export const define: DefineCommand = (command) =>
  command
    .repeatable('--target <name>', 'only this target')
    .repeatable('--source <name>', 'only this source, or the source of this table')
    .option('--from <run>', 'load the landing of this run again, without the network')
    .option('--fresh', 'extract everything again, including what an interrupted pull landed')
    .repeatable('--accept-shrink <source>', 'pull this source and accept the loss of many of its rows')
    .runs(() => import('./pull.ts'), 'pull');

type PullFlags = Lists<'target' | 'source' | 'acceptShrink'> & Texts<'from'> & Switches<'fresh'>;

export async function pull(context: Context, options: PullFlags): Promise<void> {
  const config = readConfig(context);
  const { sources } = await loadDefinitions(config, {}, () => false);
  const acceptShrink = await resolveSources(config, sources, options.acceptShrink);
  const requested = await resolveSources(config, sources, options.source);
  const targets = assertTargets(config, options.target);
  const selection = { targets, sources: requested.length > 0 ? requested : acceptShrink };
  const selected = selectPulls(config, selection, sources);
  const isFiltered = options.target.length + options.source.length + acceptShrink.length > 0;
  const pulls =
    options.from === undefined || isFiltered ? selected : await selectLanded(config, options.from, selected);
  const wanted = { pulls: assertPulls(config, pulls), sources, acceptShrink, fresh: options.fresh ?? false };
  const result = await runPulls(config, context, wanted, options.from);
  writeResult(context, result, () => formatRunSummary(result, listFailures(result)));
  context.exit(exitCode(result));
}

/** The pulls of a run. Those that it did not land fail. */
async function selectLanded(config: Config, run: string, pulls: readonly Pull[]): Promise<readonly Pull[]> {
  const manifests = await readLanding(config, run);
  const keys = new Set([...manifests.keys(), ...(await readPlanned(config, run))]);
  return pulls.filter((pull) => keys.has(pullKey(pull)));
}

/** Source names; the name of a table selects the source that fills it. @throws TidemarkError USAGE naming the closest match. */
async function resolveSources(config: Config, sources: readonly SourceDefinition[], names: readonly string[]) {
  if (names.length === 0) return [];
  const tables = loadTables(createSqlFiles(overlayRoots(config.directory)));
  const known = new Set(sources.map(({ name }) => name));
  return names.map((name) => {
    const source = known.has(name) ? name : tables.get(name)?.source;
    if (source === undefined) throw unknownName('source', name, known);
    return source;
  });
}
