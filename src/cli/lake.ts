import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { ENGINES, type Engine } from '../core/choices.ts';
import { HOUR_MS } from '../core/clock.ts';
import type { Context } from '../core/context.ts';
import { EXIT, TidemarkError } from '../core/errors.ts';
import { stripControls } from '../core/log.ts';
import { overlayRoots } from '../core/paths.ts';
import { plural } from '../core/plural.ts';
import { closeRun, nameRun } from '../lake/close.ts';
import { logFolder } from '../lake/delta-log.ts';
import { describeProblem, type Lake } from '../lake/log.ts';
import { vacuumLake, verifyLake } from '../lake/maintain.ts';
import { withLakeStore } from '../lake/open-store.ts';
import { publishToLake } from '../lake/publish.ts';
import { createLakeReader } from '../lake/reader.ts';
import { restoreFromLake } from '../lake/restore.ts';
import { CLAIMS } from '../lake/statements.ts';
import { RUNS_TABLE } from '../lake/table.ts';
import { createLakeViews, renderDdl } from '../lake/views.ts';
import { listFleetQueries, renderFleetReport } from '../run/fleet.ts';
import { toJsonText } from '../tell/reports/data.ts';
import { withMemory } from '../warehouse/database.ts';
import { createSqlFiles } from '../warehouse/sql-files.ts';
import { type DefineCommand, type Switches, shards, type Texts, wholeNumber } from './define.ts';
import { readLocalConfig } from './options.ts';
import { toPrintable, writeResult } from './output.ts';

export const define: DefineCommand = (lake) => {
  const load = () => import('./lake.ts');
  const add = (name: string) =>
    lake
      .command(name)
      .option('--lake <place>', 'folder or s3://BUCKET/PREFIX of the lake; by default `lake` of the configuration');
  const run = ['--run <name>', 'run that a shard is a part of (TIDEMARK_RUN); by default the date in UTC'] as const;
  add('publish')
    .option(...run)
    .runs(load, 'publish');
  add('close')
    .requiredOption('--shards <n>', 'number of shards', shards)
    .option(...run)
    .option('--wait <seconds>', 'wait so long for shards that have not published', wholeNumber, 0)
    .option('--accept-shrink', 'also close shards whose targets lost more rows than `shrinkPercent`')
    .runs(load, 'close');
  add('verify').runs(load, 'verify');
  add('restore').runs(load, 'restore');
  add('ddl')
    .choice('--engine <engine>', 'engine', ENGINES, 'required')
    .option('--location <url>', 'where the engine finds the lake; by default its folder or bucket')
    .option('--schema <name>', 'what is internal is in the schema NAME_internal', 'tidemark')
    .runs(load, 'ddl');
  add('vacuum')
    .option('--older-than <hours>', 'age in hours; younger files may belong to a publish in progress', wholeNumber, 24)
    .option('--dry-run', 'list the files only')
    .runs(load, 'vacuum');
};

type LakeFlags = Texts<'lake'>;

export async function publish(context: Context, flags: Texts<'lake' | 'run'>): Promise<void> {
  const config = readLakeConfig(context, flags);
  const run = flags.run ?? context.env.TIDEMARK_RUN;
  const { lake, ...result } = await withLakeStore(context, config, async (store) => ({
    lake: store.name,
    ...(await publishToLake({ config, store, now: context.clock.now(), run })),
  }));
  const rows = result.tables.reduce((sum, table) => sum + table.rows, 0);
  writeResult(context, { lake, ...result }, () =>
    result.publish === null
      ? `${lake} has every run up to ${result.as_of} already\n`
      : `publish ${result.publish}: ${plural(rows, 'row')}, runs up to ${result.as_of} in ${lake}\n`,
  );
}

/** Exits 1 if a shard is missing or refused. */
export async function close(
  context: Context,
  flags: Texts<'lake' | 'run'> & Switches<'acceptShrink'> & Readonly<Record<'shards' | 'wait', number>>,
): Promise<void> {
  const { clock, env, log, signal } = context;
  const config = readLocalConfig(context);
  const result = await openLake(context, flags, (lake) =>
    closeRun({
      ...lake,
      run: nameRun(clock.now(), flags.run ?? env.TIDEMARK_RUN),
      shards: flags.shards,
      waitMs: flags.wait * 1_000,
      shrinkPercent: config.shrinkPercent,
      acceptShrink: flags.acceptShrink ?? false,
      signal,
    }),
  );
  for (const { shard, why } of result.refused) log.error(`shard ${shard} is not closed: ${why}`);
  if (result.missing.length > 0) {
    log.error(`${plural(result.missing.length, 'shard')} did not publish: ${result.missing.join(', ')}`);
  }
  const closed = result.closed.length + result.known.length;
  writeResult(context, result, () => `run ${result.run}: ${closed} of ${plural(flags.shards, 'shard')} closed\n`);
  if (result.refused.length + result.missing.length > 0) context.exit(EXIT.incomplete);
}

export async function verify(context: Context, flags: LakeFlags): Promise<void> {
  const result = await withLake(context, flags, verifyLake);
  const { files, rows, tables, unnamed, isStated, problems } = result;
  for (const problem of problems) context.log.error(describeProblem(problem));
  if (!isStated) context.log.warn(UNSTATED);
  writeResult(context, result, () =>
    [
      `${plural(files, 'file')} with ${plural(rows, 'row')} in ${plural(tables, 'table')}: `,
      problems.length === 0 ? 'all complete\n' : `${plural(problems.length, 'problem')}\n`,
      unnamed === 0 || problems.length > 0
        ? ''
        : `${plural(unnamed, 'file')} that no commit names: \`tidemark lake vacuum\` removes them\n`,
    ].join(''),
  );
  if (problems.length > 0) context.exit(EXIT.data);
}

/** A lake that only an earlier version has written. */
const UNSTATED =
  'no publish states what the logs of this lake have: that the end of one is gone cannot be seen before the next publish';

/** Exits 1 if the warehouse has less than was published. */
export async function restore(context: Context, flags: LakeFlags): Promise<void> {
  const config = readLakeConfig(context, flags);
  const { log, clock } = context;
  const { tables, losses, isStated } = await withLakeStore(context, config, (store) =>
    restoreFromLake({ config, store, now: clock.now(), log }),
  );
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const text = `${plural(tables.length, 'table')} with ${plural(rows, 'row')} in ${config.data}\n`;
  writeResult(context, { data: config.data, tables, losses }, () => text);
  if (!isStated) log.warn(UNSTATED);
  for (const loss of losses) log.error(loss);
  if (losses.length === 0) return;
  log.error(`the warehouse has less than was published: ${plural(losses.length, 'problem')}`);
  context.exit(EXIT.incomplete);
}

export async function ddl(
  context: Context,
  flags: Texts<'lake' | 'location'> & { readonly engine: Engine; readonly schema: string },
): Promise<void> {
  const { engine, schema } = flags;
  const { guide, statements } = await withLake(context, flags, async (lake) =>
    renderDdl(await readRuns(lake), { engine, schema, location: flags.location ?? lake.store.name }),
  );
  const head = guide.map((line) => `-- ${line}\n`).join('');
  const text = () => toPrintable(context, `${head}\n${statements.join('\n\n')}\n`);
  writeResult(context, { engine, guide, statements }, text);
}

export async function vacuum(context: Context, flags: LakeFlags & Switches<'dryRun'> & { olderThan: number }) {
  const isDone = flags.dryRun !== true;
  const removed = await withLake(context, flags, (lake) => vacuumLake(lake, flags.olderThan * HOUR_MS, !isDone));
  const bytes = removed.reduce((sum, file) => sum + file.bytes, 0);
  writeResult(context, { removed: isDone, bytes, files: removed.map(({ path }) => path) }, () =>
    [
      ...(isDone ? [] : removed.map(({ path }) => `${stripControls(path)}\n`)),
      `${plural(removed.length, 'file')}, ${plural(bytes, 'byte')} ${isDone ? 'removed' : 'to remove'}\n`,
    ].join(''),
  );
}

/** The configuration, with the lake that the command line names. */
function readLakeConfig(context: Context, { lake }: LakeFlags): Config {
  return { ...readLocalConfig(context), ...(lake !== undefined && { lake }) };
}

/** Opens a lake, for `work`. @throws TidemarkError DATA if no publish has written to the place */
function withLake<T>(context: Context, flags: LakeFlags, work: (lake: Lake) => Promise<T>): Promise<T> {
  return openLake(context, flags, async (lake) => {
    const marks = await Promise.all([CLAIMS, logFolder(RUNS_TABLE)].map((path) => lake.store.list(path)));
    if (marks.flat().length > 0) return work(lake);
    const hint = 'write one with `tidemark lake publish`';
    throw new TidemarkError('DATA', `${lake.store.name} is not a lake`, { hint });
  });
}

/** @throws TidemarkError DATA while no run is visible: what shards have published waits for its close */
async function readRuns(lake: Lake) {
  const reader = createLakeReader(lake);
  if ((await reader.snapshot(RUNS_TABLE)).version >= 0) return reader;
  throw new TidemarkError('DATA', `no run of ${lake.store.name} is visible`, {
    hint: 'publish again with `tidemark lake publish`; of shards, close a run with `tidemark lake close`',
  });
}

/** The lake with a DuckDB in memory. Whoever reads a lake need not have the configuration of those who write it. */
async function openLake<T>(context: Context, flags: LakeFlags, work: (lake: Lake) => Promise<T>): Promise<T> {
  const isWithout = flags.lake !== undefined && !existsSync(resolve(context.cwd, context.configFile));
  const { memoryLimit, ...config } = isWithout
    ? { ...flags, directory: context.cwd, memoryLimit: '1GB' }
    : readLakeConfig(context, flags);
  const files = createSqlFiles(overlayRoots(config.directory));
  const nowMs = context.clock.now().getTime();
  const options = { memoryLimit, ownFolderIn: tmpdir() };
  return withLakeStore(context, config, (store) =>
    withMemory((database) => work({ store, database, files, nowMs }), options),
  );
}

/** Renders the report of all organizations in a lake, and prints the paths of its files. */
export async function reportFleet(
  context: Context,
  config: Config,
  names: readonly string[],
  flags: Texts<'asOf' | 'lake' | 'out'>,
): Promise<void> {
  if (names.length > 1 || flags.asOf !== undefined) {
    throw new TidemarkError('USAGE', '`report fleet` shows the newest nights of a lake, and no other report', {
      hint: 'give `report fleet` alone, without --as-of',
    });
  }
  const out = flags.out === undefined ? config.output : resolve(context.cwd, flags.out);
  await withLake(context, flags, async (lake) => {
    await createLakeViews(await readRuns(lake), listFleetQueries(lake.files));
    const report = await renderFleetReport(lake, out, context.clock.now());
    if (context.json) context.stdout(toJsonText(report.data));
    else context.stdout(report.files.map((file) => `${resolve(out, file)}\n`).join(''));
  });
}
