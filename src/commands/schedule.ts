import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadConfig } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { EXIT, TidemarkError } from '../core/errors.ts';
import { type Job, loadJob, loadJobs } from '../core/jobs.ts';
import { checkJobs } from '../pipeline/check-job.ts';
import { exitOfJob, runJob } from '../pipeline/run-job.ts';
import type { ScheduledJob } from '../scheduler/scheduler.ts';
import { serveSchedule } from '../scheduler/serve.ts';
import { nextRuns } from '../scheduler/timetable.ts';

export function registerSchedule(program: Command, context: () => Context): void {
  program
    .command('schedule')
    .description('stay up and run every job at its time')
    .option('--list', 'print when each job is next due, and end')
    .action((options: { list?: boolean }) => schedule(context(), options.list ?? false));
}

async function schedule(context: Context, listOnly: boolean): Promise<void> {
  const config = loadConfig(resolve(context.cwd, context.configFile), context.env, context.redactor);
  const jobs = await loadJobs(config, context.env);
  if (listOnly) {
    list(context, jobs);
    return;
  }
  const scheduled = [...jobs.values()].flatMap(scheduledJob);
  await checkJobs(
    config,
    [...jobs.values()].filter((job) => job.schedule !== undefined),
  );
  if (context.clock.frozen)
    throw new TidemarkError('USAGE', 'a schedule cannot run with --now: its clock stands still');
  if (scheduled.length === 0) {
    throw new TidemarkError('CONFIG', 'no job has a schedule', {
      hint: 'give one in jobs/NAME.yaml: schedule: "15 2 * * *"',
    });
  }
  await serveSchedule({ config, context, jobs: scheduled, runJob: (name) => runOnce(context, name) });
}

function scheduledJob({ name, schedule: expression, timezone }: Job): readonly ScheduledJob[] {
  return expression === undefined ? [] : [{ name, schedule: expression, timezone }];
}

/** As `tidemark run NAME` does it, files read anew: what was corrected since the start holds. */
async function runOnce(context: Context, name: string): Promise<boolean> {
  const config = loadConfig(resolve(context.cwd, context.configFile), context.env, context.redactor);
  const job = await loadJob(config, context.env, name);
  return exitOfJob(await runJob(config, context, job)) === EXIT.done;
}

function list({ json, stdout, clock }: Context, jobs: ReadonlyMap<string, Job>): void {
  const upcoming = nextRuns(jobs.values(), clock.now());
  if (json) stdout(`${JSON.stringify(upcoming, null, 2)}\n`);
  else stdout(upcoming.map(({ job, next, timezone }) => `${next}  ${job} (${timezone})\n`).join(''));
}
