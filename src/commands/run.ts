import type { Command } from 'commander';
import { loadJob } from '../config/job.ts';
import type { Context } from '../core/context.ts';
import { loadDefinitions } from '../pipeline/plugins.ts';
import { type JobResult, jobExitCode, runJob } from '../pipeline/run-job.ts';
import { assertTargets, collect, readConfig } from './options.ts';
import { writeResult } from './output.ts';
import { formatRunSummary } from './pull.ts';

interface Options {
  readonly target: readonly string[];
}

export function registerRun(program: Command, context: () => Context): void {
  program
    .command('run')
    .description('run one job now: pull, findings, reports, mail')
    .argument('<job>', 'name of a file in jobs/')
    .option('--target <name>', 'pull only this target; repeatable', collect, [])
    .action((name: string, options: Options) => run(context(), name, options));
}

async function run(context: Context, name: string, options: Options): Promise<void> {
  const config = readConfig(context);
  const targets = assertTargets(config, options.target);
  const job = await loadJob(config, context.env, name);
  const result = await runJob(config, context, job, await loadDefinitions(config), { targets });
  writeResult(context, result, () => formatJobResult(result, config.output));
  context.exit(jobExitCode(result));
}

function formatJobResult(result: JobResult, output: string): string {
  const { reports, mail } = result;
  const sent = mail.deliveries.filter(({ status }) => status === 'sent').length;
  return [
    formatRunSummary(result),
    reports.length > 0 ? `reports in ${output}: ${reports.join(', ')}\n` : '',
    mail.deliveries.length > 0 ? `mail: ${sent} of ${mail.deliveries.length} digests sent\n` : '',
  ].join('');
}
