import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { frozenClock } from '../core/clock.ts';
import { loadConfig } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { EXIT, TidemarkError } from '../core/errors.ts';
import { loadJob } from '../core/jobs.ts';
import { runJob } from '../pipeline/run-job.ts';
import { startSandbox } from '../sandbox/index.ts';

/** First line of the demo's configuration: a folder without it is somebody else's. */
const MARK = '# Made by `tidemark demo`; the services it names have stopped.';
const NIGHTS = 14;
/** Told in headers, so that the pull need not feel its way up from a careful start. */
const REQUESTS_PER_SECOND = 1000;

interface Options {
  readonly nights: number;
  readonly workspaces?: number;
}

export function registerDemo(program: Command, context: () => Context): void {
  program
    .command('demo')
    .description('play several nights of an invented estate through the nightly job, into ./demo')
    .option('--nights <n>', 'nights to play', count, NIGHTS)
    .option('--workspaces <n>', 'size of the estate', count)
    .action((options: Options) => demo(context(), options));
}

function count(text: string): number {
  if (!/^[1-9]\d*$/u.test(text)) throw new InvalidArgumentError('must be a whole number above 0');
  return Number(text);
}

async function demo(context: Context, { nights, workspaces }: Options): Promise<void> {
  const folder = resolve(context.cwd, 'demo');
  await clear(folder);
  const sandbox = await startSandbox({ rate: REQUESTS_PER_SECOND, ...(workspaces !== undefined && { workspaces }) });
  try {
    await mkdir(folder, { recursive: true });
    const file = join(folder, 'tidemark.yaml');
    await writeFile(file, `${MARK}\n${sandbox.config()}`);
    const config = loadConfig(file, context.env, context.redactor);
    const job = await loadJob(config, context.env, 'nightly');
    for (let night = 1; night <= nights && !context.signal.aborted; night++) {
      const quiet = { ...context.log, info: () => {} };
      const result = await runJob(config, { ...context, log: quiet, clock: frozenClock(sandbox.now) }, job);
      const complete = result.pulls.filter(({ status }) => status === 'complete').length;
      context.log.info(
        `night ${night} of ${nights}, ${result.as_of.slice(0, 10)}: ${complete} of ${result.pulls.length} sources complete`,
      );
      if (result.status !== 'complete') context.exit(EXIT.incomplete);
      if (night < nights) sandbox.advance();
    }
    context.stdout(context.json ? `${JSON.stringify(placesOf(folder), null, 2)}\n` : whatNext(context, folder));
  } finally {
    await sandbox.close();
  }
}

/** Only a folder that an earlier demo made is replaced. */
async function clear(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  const file = join(folder, 'tidemark.yaml');
  const ours = existsSync(file) && (await readFile(file, 'utf8')).startsWith(MARK);
  if (!ours)
    throw new TidemarkError('UNSAFE', `${folder} exists and is not a demo's`, {
      hint: 'move it away, or run elsewhere',
    });
  await rm(folder, { recursive: true });
}

function placesOf(folder: string) {
  return {
    reports: join(folder, 'out', 'index.html'),
    warehouse: join(folder, 'data', 'warehouse.duckdb'),
    config: join(folder, 'tidemark.yaml'),
  };
}

function whatNext({ cwd }: Context, folder: string): string {
  const { reports, warehouse, config } = placesOf(folder);
  const local = (path: string) => relative(cwd, path) || path;
  return `
open       ${local(reports)}
warehouse  ${local(warehouse)}
try        npx tidemark --config ${local(config)} sql "select workspace_name, resources_drifted from workspaces where drifted order by 2 desc limit 10"
           npx tidemark --config ${local(config)} sql "select workspace_name, drifted, valid_from, valid_to from workspaces_history order by 1, 3 limit 20"
           npx tidemark --config ${local(config)} sql --as-of 2026-10-05 "select count(*) as drifting from workspaces where drifted"
           npx tidemark --config ${local(config)} tables workspaces
`;
}
