import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { loadConfig } from '../config/config.ts';
import { loadJob } from '../config/job.ts';
import { frozenClock } from '../core/clock.ts';
import type { Context } from '../core/context.ts';
import { EXIT, TidemarkError } from '../core/errors.ts';
import { runJob } from '../pipeline/run-job.ts';
import { startSandbox } from '../sandbox/index.ts';

/** Begins the configuration of a demo; a folder without it was not made by one. */
const MARK = '# Made by `tidemark demo`';
/** Advertised in the sandbox's headers, so the rate limiter starts at full speed. */
const REQUESTS_PER_SECOND = 1000;

export interface DemoFlags {
  readonly runs: number;
  readonly nights?: number;
  readonly workspaces?: number;
}

export async function demo(context: Context, { nights, workspaces, ...options }: DemoFlags): Promise<void> {
  const runs = nights ?? options.runs;
  const folder = resolve(context.cwd, 'demo');
  await removeEarlierDemo(folder);
  const sandbox = await startSandbox({ rate: REQUESTS_PER_SECOND, ...(workspaces !== undefined && { workspaces }) });
  try {
    await mkdir(folder, { recursive: true });
    const file = join(folder, 'tidemark.yaml');
    await writeFile(file, `${MARK}. The services in it are no longer running.\n${sandbox.config()}`);
    const config = loadConfig(file, context.env, context.redactor);
    const job = await loadJob(config, context.env, 'nightly');
    for (let run = 1; run <= runs && !context.signal.aborted; run++) {
      const quiet = { ...context.log, info: () => {} };
      const result = await runJob(config, { ...context, log: quiet, clock: frozenClock(sandbox.now) }, job);
      const complete = result.pulls.filter(({ status }) => status === 'complete').length;
      context.log.info(
        `run ${run} of ${runs}, ${result.as_of.slice(0, 10)}: ${complete} of ${result.pulls.length} sources complete`,
      );
      if (result.status !== 'complete') context.exit(EXIT.incomplete);
      if (run < runs) sandbox.tick();
    }
    context.stdout(context.json ? `${JSON.stringify(demoPaths(folder), null, 2)}\n` : formatNextSteps(context, folder));
  } finally {
    await sandbox.close();
  }
}

/** Removes the folder of an earlier demo, and no other. */
async function removeEarlierDemo(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  const file = join(folder, 'tidemark.yaml');
  const isDemo = existsSync(file) && (await readFile(file, 'utf8')).startsWith(MARK);
  if (!isDemo)
    throw new TidemarkError('UNSAFE', `${folder} exists and was not made by a demo`, {
      hint: 'move it, or run the demo in another folder',
    });
  await rm(folder, { recursive: true });
}

function demoPaths(folder: string) {
  return {
    reports: join(folder, 'out', 'index.html'),
    warehouse: join(folder, 'data', 'warehouse.duckdb'),
    config: join(folder, 'tidemark.yaml'),
  };
}

function formatNextSteps({ cwd, program }: Context, folder: string): string {
  const { reports, warehouse, config } = demoPaths(folder);
  const local = (path: string) => relative(cwd, path) || path;
  return `
open       ${local(reports)}
warehouse  ${local(warehouse)}
try        ${program} --config ${local(config)} sql "select workspace_name, resources_drifted from workspaces where drifted order by 2 desc limit 10"
           ${program} --config ${local(config)} sql "select workspace_name, drifted, valid_from, valid_to from workspaces_history order by 1, 3 limit 20"
           ${program} --config ${local(config)} sql --as-of 2026-10-05 "select count(*) as drifting from workspaces where drifted"
           ${program} --config ${local(config)} tables workspaces
`;
}
