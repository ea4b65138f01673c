import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadConfig } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { loadJob } from '../core/jobs.ts';
import { exitOfJob, runJob } from '../pipeline/run-job.ts';

export function registerRun(program: Command, context: () => Context): void {
  program
    .command('run')
    .description('one job now: pull, findings, reports, mail')
    .argument('<job>', 'name of a file in jobs/')
    .action((name: string) => run(context(), name));
}

async function run(context: Context, name: string): Promise<void> {
  const config = loadConfig(resolve(context.cwd, context.configFile), context.env, context.redactor);
  const job = await loadJob(config, context.env, name);
  const result = await runJob(config, context, job);
  if (context.json) context.stdout(`${JSON.stringify(result, null, 2)}\n`);
  else {
    const complete = result.pulls.filter(({ status }) => status === 'complete').length;
    context.stdout(`run ${result.run_id}: ${result.status}, ${complete} of ${result.pulls.length} sources complete\n`);
    if (result.reports.length > 0) context.stdout(`reports in ${config.output}: ${result.reports.join(', ')}\n`);
    const { deliveries } = result.mail;
    const sent = deliveries.filter((delivery) => delivery.status === 'sent').length;
    if (deliveries.length > 0) context.stdout(`mail: ${sent} of ${deliveries.length} digests sent\n`);
  }
  context.exit(exitOfJob(result));
}
