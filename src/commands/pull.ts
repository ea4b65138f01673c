import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type Config, loadConfig } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { searchPath } from '../core/paths.ts';
import { nearestName } from '../core/yaml-file.ts';
import { landed } from '../pipeline/landings.ts';
import { type Pull, planPulls } from '../pipeline/pull.ts';
import { exitOf, type RunResult, requirePulls, runPulls } from '../pipeline/run.ts';
import { sources } from '../sources/index.ts';
import { sqlFiles } from '../warehouse/sql-files.ts';
import { loadTables } from '../warehouse/tables.ts';

interface Options {
  readonly target: readonly string[];
  readonly source: readonly string[];
  readonly from?: string;
  readonly fresh?: boolean;
  readonly acceptShrink: readonly string[];
}

const collect = (value: string, previous: readonly string[]) => [...previous, value];

export function registerPull(program: Command, context: () => Context): void {
  program
    .command('pull')
    .description('extract and load')
    .option('--target <name>', 'only this target; repeatable', collect, [])
    .option('--source <name>', 'only this source, or the source of this table; repeatable', collect, [])
    .option('--from <run>', 'load again what this run landed, without the network')
    .option('--fresh', 'ask for everything anew, also what an interrupted pull has landed')
    .option(
      '--accept-shrink <source>',
      'pull this source and take the mass disappearance of its rows; repeatable',
      collect,
      [],
    )
    .action((options: Options) => pull(context(), options));
}

async function pull(context: Context, options: Options): Promise<void> {
  const config = loadConfig(resolve(context.cwd, context.configFile), context.env, context.redactor);
  const acceptShrink = await sourceNames(config, options.acceptShrink);
  const asked = await sourceNames(config, options.source);
  const planned = planPulls(config, {
    targets: targetNames(config, options.target),
    sources: asked.length > 0 ? asked : acceptShrink,
  });
  const selected = options.target.length + options.source.length + acceptShrink.length > 0;
  const pulls = options.from === undefined || selected ? planned : await landedOnes(config, options.from, planned);
  const result = await runPulls({
    config,
    context,
    job: 'pull',
    pulls: requirePulls(pulls),
    acceptShrink,
    fresh: options.fresh ?? false,
    ...(options.from !== undefined && { from: options.from }),
  });
  tell(context, result);
  context.exit(exitOf(result));
}

/** Those of the pulls that a run has landed: what it was not asked for, or did not get, is no failure of loading it again. */
async function landedOnes(config: Config, run: string, pulls: readonly Pull[]): Promise<readonly Pull[]> {
  const { manifests } = await landed(config, run);
  return pulls.filter(({ target, source }) => manifests.has(`${target.name}/${source.name}`));
}

function tell({ json, stdout }: Context, result: RunResult): void {
  if (json) {
    stdout(`${JSON.stringify(result, null, 2)}\n`);
    return;
  }
  const complete = result.pulls.filter(({ status }) => status === 'complete').length;
  stdout(`run ${result.run_id}: ${result.status}, ${complete} of ${result.pulls.length} sources complete\n`);
}

/** Known target names. @throws TidemarkError USAGE naming the nearest. */
export function targetNames(config: Config, names: readonly string[]): readonly string[] {
  const known = config.targets.map(({ name }) => name);
  return names.map((name) => (known.includes(name) ? name : refuse('target', name, known)));
}

/** Source names; a table's name stands for the source that fills it. @throws TidemarkError USAGE naming the nearest. */
async function sourceNames(config: Config, names: readonly string[]): Promise<readonly string[]> {
  if (names.length === 0) return [];
  const tables = await loadTables(sqlFiles(searchPath(config.directory)));
  const known = new Set(sources.map(({ name }) => name));
  return names.map((name) => {
    const source = known.has(name) ? name : tables.get(name)?.source;
    return source ?? refuse('source', name, [...known]);
  });
}

function refuse(what: string, name: string, known: readonly string[]): never {
  const nearest = nearestName(name, known);
  throw new TidemarkError('USAGE', `unknown ${what} ${name}`, {
    hint: nearest ? `did you mean ${nearest}?` : `known are ${known.join(', ')}`,
  });
}
