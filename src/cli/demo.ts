import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { type Config, loadConfig } from '../config/config.ts';
import { type Job, loadJob } from '../config/job.ts';
import { POLICY_FILE } from '../config/policy.ts';
import { DAY_MS, frozenClock } from '../core/clock.ts';
import type { Context } from '../core/context.ts';
import { EXIT, TidemarkError } from '../core/errors.ts';
import { PACKAGE_ROOT } from '../core/paths.ts';
import { plural } from '../core/plural.ts';
import { exitCode, type JobResult } from '../run/run.ts';
import { runJob } from '../run/run-job.ts';
import { type DefineCommand, positiveNumber } from './define.ts';
import { type FaultHook, loadSandbox, startDemoServices, withoutProxy } from './demo-services.ts';
import { writeResult } from './output.ts';

/** The end of the story from before its incident: what a reader wants to see, in 15 s. */
const DEFAULT_RUNS = 10;

export const define: DefineCommand = (command) =>
  command
    .option('--runs <n>', 'number of nightly runs', positiveNumber, DEFAULT_RUNS)
    .option('--workspaces <n>', 'number of workspaces in the estate', positiveNumber)
    .runs(() => import('./demo.ts'), 'demo');

/** Begins the configuration of a demo; a folder without it was not made by one. */
const MARK = '# Made by `tidemark demo`';
/** When the nightly job runs, in milliseconds after midnight UTC. */
const NIGHTLY_MS = (2 * 60 + 15) * 60_000;

/** Plays some nights of a generated estate, the last of which is the latest night before now. */
export async function demo(context: Context, { runs, workspaces }: { runs: number; workspaces?: number }) {
  const { describeDay, isIncident, lastDay } = await loadSandbox();
  const folder = resolve(context.cwd, 'demo');
  await removeEarlierDemo(folder);
  await mkdir(join(folder, 'policy'), { recursive: true });
  const end = Math.floor((context.clock.now().getTime() - NIGHTLY_MS) / DAY_MS) * DAY_MS + NIGHTLY_MS;
  const start = new Date(end - lastDay(runs) * DAY_MS);
  let isDown = false; // the platform's explorer
  const faultHook: FaultHook = ({ path }, { error, kind }) =>
    isDown && kind === 'platform' && path.includes('/explorer') ? error(503, 'Service Unavailable') : undefined;
  const sandbox = await startDemoServices(folder, { start, faultHook, workspaces });
  try {
    const file = join(folder, 'tidemark.yaml');
    await copyFile(join(PACKAGE_ROOT, 'templates', 'versions.yaml'), join(folder, POLICY_FILE));
    await writeFile(file, `${MARK}. Commands that call its services start them again.\n${sandbox.config()}`);
    const config = loadConfig(file, context.env, context.redactor);
    const job = await loadJob(config, context.env, 'nightly');
    for (let night = 1; night <= runs && !context.signal.aborted; night++) {
      sandbox.advanceTo(new Date(end - (runs - night) * DAY_MS));
      isDown = isIncident(sandbox.day) && night > 1;
      const result = await playNight(context, config, night === runs ? job : { ...job, reports: [] }, sandbox.now);
      const story = night === 1 ? 'the first night: what is wrong is a baseline, not news' : describeDay(sandbox.day);
      const day = formatDay(sandbox.now);
      context.log.info(`night ${String(night).padStart(2)}  ${day}  ${story}  ${formatNumbers(result)}`);
      if (exitCode(result) !== EXIT.done && !isDown) context.exit(EXIT.incomplete);
    }
    if (context.signal.aborted) return;
    writeResult(context, demoPaths(folder), () => formatNextSteps(context, folder, { end, runs }));
  } finally {
    await sandbox.close();
  }
}

/** The reports of the last night show what changed in those before it: the job of the others has none. */
function playNight(context: Context, config: Config, job: Job, now: Date): Promise<JobResult> {
  const log = { ...context.log, info: () => {}, warn: () => {} };
  // A service that is down is asked again at once: the demo does not show waiting.
  const timeouts = { ...context.timeouts, backoffMs: 1, maxBackoffMs: 1 };
  return runJob(config, { ...withoutProxy(context), log, terminal: undefined, timeouts, clock: frozenClock(now) }, job);
}

/** `Tue 17 Nov`, in UTC. */
function formatDay(date: Date): string {
  const parts = { weekday: 'short', day: '2-digit', month: 'short', timeZone: 'UTC' } as const;
  return date.toLocaleDateString('en-GB', parts).replace(',', '');
}

function formatNumbers({ findings, pulls }: JobResult): string {
  const stale = pulls.filter(({ status }) => status !== 'complete').length;
  const { baseline = 0, found = 0, reopened = 0, resolved = 0, deleted = 0, unassessed = 0 } = findings ?? {};
  if (baseline > 0 && found === 0) return `${plural(baseline, 'finding')} in ${plural(pulls.length, 'source')}`;
  const change = `findings: +${found + reopened} −${resolved + deleted}`;
  return stale === 0
    ? change
    : `${change}; stale: ${plural(stale, 'source')}, unassessed: ${plural(unassessed, 'finding')}`;
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

/** Days before the last night, of which the example of `--as-of` tells. */
const EXAMPLE_DAYS = 4;

function formatNextSteps(
  { cwd, program, colors }: Context,
  folder: string,
  { end, runs }: { end: number; runs: number },
): string {
  const { reports, warehouse, config } = demoPaths(folder);
  const local = (path: string) => relative(cwd, path) || path;
  const asOf = new Date(end - Math.min(EXAMPLE_DAYS, runs - 1) * DAY_MS).toISOString();
  const command = `${program} --config ${local(config)}`;
  return `
${colors.bold('Reports')}    ${local(reports)}, or ${local(join(folder, 'out', 'overview.html'))}: what is wrong, since when, and the next step
${colors.bold('Warehouse')}  ${local(warehouse)}

${colors.bold('Next')}
  open  ${command} findings --state new
  ask   ${command} sql --as-of ${asOf.slice(0, 16)} "select project_name, count(*) as drifting from workspaces where drifted group by all order by 2 desc"
  act   ${command} playbook plan trim-anonymous-policy
`;
}
