import { loadJob } from '../config/job.ts';
import type { Context } from '../core/context.ts';
import { loadJobDefinitions } from '../run/plugins/index.ts';
import { exitCode, type JobResult, listFailures } from '../run/run.ts';
import { runJob } from '../run/run-job.ts';
import type { DefineCommand, Lists } from './define.ts';
import { assertTargets, readConfig } from './options.ts';
import { formatRunSummary, formatSent, writeResult } from './output.ts';

export const define: DefineCommand = (command) =>
  command
    .argument('<job>', 'name of a file in jobs/')
    .repeatable('--target <name>', 'pull only this target')
    .runs(() => import('./run.ts'), 'run');

export async function run(context: Context, name: string, options: Lists<'target'>): Promise<void> {
  const config = readConfig(context);
  const targets = assertTargets(config, options.target);
  const job = await loadJob(config, context.env, name);
  const result = await runJob(config, context, job, await loadJobDefinitions(config, [job]), targets);
  writeResult(context, result, () => formatJobResult(result, config.output));
  context.exit(exitCode(result));
}

function formatJobResult(result: JobResult, output: string): string {
  const { reports, mail } = result;
  return [
    formatRunSummary(result, listFailures(result)),
    reports.length > 0 ? `reports in ${output}: ${reports.join(', ')}\n` : '',
    mail.deliveries.length > 0 ? `mail: ${formatSent(mail.deliveries)}\n` : '',
  ].join('');
}
