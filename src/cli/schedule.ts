import { type Job, loadJob, readJobs } from '../config/job.ts';
import type { Context } from '../core/context.ts';
import { EXIT, TidemarkError } from '../core/errors.ts';
import { checkDefinitions } from '../run/check-definitions.ts';
import { loadJobDefinitions } from '../run/plugins/index.ts';
import { exitCode } from '../run/run.ts';
import { runJob, validateJob } from '../run/run-job.ts';
import { nextRuns } from '../run/schedule/cron-schedule.ts';
import { runDaemon } from '../run/schedule/daemon.ts';
import type { DefineCommand, Switches } from './define.ts';
import { readConfig } from './options.ts';
import { formatTime, writeResult } from './output.ts';

export const define: DefineCommand = (command) =>
  command.option('--list', 'print the next run of each job and exit').runs(() => import('./schedule.ts'), 'schedule');

export async function schedule(context: Context, { list }: Switches<'list'>): Promise<void> {
  const config = readConfig(context);
  const { jobs, problems } = readJobs(config, context.env);
  if (list) {
    listNextRuns(context, jobs);
    const found = await checkDefinitions(config, context);
    if (found.length === 0) return;
    throw new TidemarkError('CONFIG', found.map(({ what, problem }) => `${what}: ${problem}`).join('\n'));
  }
  if (problems.length > 0) throw new TidemarkError('CONFIG', problems.join('\n'));
  const used = jobs.flatMap((job) => (job.schedule === undefined ? [] : [{ ...job, schedule: job.schedule }]));
  const definitions = await loadJobDefinitions(config, used);
  for (const job of used) await validateJob(config, job, definitions);
  if (context.clock.frozen) throw new TidemarkError('USAGE', 'schedule cannot be combined with --now');
  if (used.length === 0) {
    throw new TidemarkError('CONFIG', 'no job has a schedule', {
      hint: 'add one to jobs/NAME.yaml: schedule: "15 2 * * *"',
    });
  }
  await runDaemon({ config, context, jobs: used, runJob: (name) => runOnce(context, name) });
}

/** Runs a job as `tidemark run` does. Configuration and job are read again, so that corrections apply without a restart. */
async function runOnce(context: Context, name: string): Promise<boolean> {
  const config = readConfig(context);
  const job = await loadJob(config, context.env, name);
  return exitCode(await runJob(config, context, job, await loadJobDefinitions(config, [job]))) === EXIT.done;
}

function listNextRuns(context: Context, jobs: readonly Job[]): void {
  const upcoming = nextRuns(jobs, context.clock.now());
  writeResult(context, upcoming, () =>
    upcoming.map(({ job, next, timezone }) => `${formatTime(next)}  ${job} (${timezone})\n`).join(''),
  );
}
