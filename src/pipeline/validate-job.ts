import type { Config } from '../core/config.ts';
import { TidemarkError } from '../core/errors.ts';
import type { Job } from '../core/jobs.ts';
import { searchPath } from '../core/paths.ts';
import { nearestName } from '../core/yaml-file.ts';
import { resolveMailSettings } from '../mail/compose.ts';
import { validateJobPlaybooks } from '../remediation/job.ts';
import { reportNames } from '../reports/index.ts';
import { sources } from '../sources/index.ts';

/** Several at once. @throws TidemarkError CONFIG with the problems of all of them */
export async function validateJobs(config: Config, jobs: readonly Job[]): Promise<void> {
  const problems: string[] = [];
  for (const job of jobs) problems.push(...(await catchConfigError(() => validateJob(config, job))));
  if (problems.length > 0) throw new TidemarkError('CONFIG', [...new Set(problems)].join('\n'));
}

/**
 * Looks up what a job names, and whether mail can be sent for it: before the night's work, not after it.
 * @throws TidemarkError CONFIG with one line a problem: `jobs/NAME.yaml: field: what, what to do`.
 */
export async function validateJob(config: Config, job: Job): Promise<void> {
  const problems = [
    ...unknownNames(job.name, 'pull', 'source', Array.isArray(job.pull) ? job.pull : [], sourceNames()),
    ...unknownNames(job.name, 'reports', 'report', job.reports, await reportNames(searchPath(config.directory))),
    ...(await catchConfigError(async () => job.mail && resolveMailSettings(config))),
    ...(await catchConfigError(() => validateJobPlaybooks(config, job))),
  ];
  if (problems.length > 0) throw new TidemarkError('CONFIG', problems.join('\n'));
}

const sourceNames = () => sources.map(({ name }) => name);

function unknownNames(
  job: string,
  field: string,
  what: string,
  names: readonly string[],
  known: readonly string[],
): readonly string[] {
  return names
    .filter((name) => !known.includes(name))
    .map((name) => {
      const nearest = nearestName(name, known);
      const hint = nearest ? `did you mean ${nearest}?` : `known are ${known.join(', ')}`;
      return `jobs/${job}.yaml: ${field}: unknown ${what} ${name}; ${hint}`;
    });
}

/** What a check has to say that throws it. */
async function catchConfigError(check: () => Promise<unknown>): Promise<readonly string[]> {
  try {
    await check();
    return [];
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.code !== 'CONFIG') throw error;
    return [error.hint ? `${error.message}; ${error.hint}` : error.message];
  }
}
