import type { Config } from '../config/config.ts';
import type { Job } from '../config/job.ts';
import { suggestName } from '../config/suggest.ts';
import { TidemarkError } from '../core/errors.ts';
import { overlayRoots } from '../core/paths.ts';
import { resolveMailSettings } from '../mail/transport.ts';
import { validateJobPlaybooks } from '../remediation/job.ts';
import { listReportNames } from '../reports/index.ts';
import { BUILT_IN, type Definitions } from './plugins.ts';

/** Validates several jobs. @throws TidemarkError CONFIG with the issues of all of them */
export async function validateJobs(
  config: Config,
  jobs: readonly Job[],
  definitions: Definitions = BUILT_IN,
): Promise<void> {
  const issues: string[] = [];
  for (const job of jobs) issues.push(...(await catchConfigError(() => validateJob(config, job, definitions))));
  if (issues.length > 0) throw new TidemarkError('CONFIG', [...new Set(issues)].join('\n'));
}

/**
 * Checks the names in a job, and whether its mail can be sent, before the run starts.
 * @throws TidemarkError CONFIG with one line per issue: `jobs/NAME.yaml: field: what, what to do`.
 */
export async function validateJob(config: Config, job: Job, definitions: Definitions = BUILT_IN): Promise<void> {
  const pull = Array.isArray(job.pull) ? job.pull : [];
  const known = definitions.sources.map(({ name }) => name);
  const reports = await listReportNames(overlayRoots(config.directory));
  const issues = [
    ...findUnknownNames(job.name, 'pull', 'source', pull, known),
    ...findUnknownNames(job.name, 'reports', 'report', job.reports, reports),
    ...(await catchConfigError(async () => job.mail && resolveMailSettings(config))),
    ...(await catchConfigError(() => validateJobPlaybooks(config, job, definitions.playbooks))),
  ];
  if (issues.length > 0) throw new TidemarkError('CONFIG', issues.join('\n'));
}

function findUnknownNames(
  job: string,
  field: string,
  kind: string,
  names: readonly string[],
  known: readonly string[],
): readonly string[] {
  return names
    .filter((name) => !known.includes(name))
    .map((name) => `jobs/${job}.yaml: ${field}: unknown ${kind} ${name}; ${suggestName(name, known)}`);
}

/** @returns the message of a configuration error, or nothing. */
async function catchConfigError(validate: () => Promise<unknown>): Promise<readonly string[]> {
  try {
    await validate();
    return [];
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.code !== 'CONFIG') throw error;
    return [error.hint ? `${error.message}; ${error.hint}` : error.message];
  }
}
