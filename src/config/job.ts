import { validate } from 'node-cron';
import { z } from 'zod';
import { TidemarkError } from '../core/errors.ts';
import { REGULAR_FILE } from '../core/fs.ts';
import { discoverFiles, overlayRoots } from '../core/paths.ts';
import type { Config } from './config.ts';
import { type Environment, withEnvFile } from './references.ts';
import { mailboxes, webUrl } from './schema.ts';
import { unknownName } from './suggest.ts';
import { readYamlFile } from './yaml.ts';

const CRON_ERROR =
  'must be a time that exists, in five fields: minute 0 to 59, hour 0 to 23, day of month 1 to 31, month 1 to 12 or jan to dec, day of week 0 to 7 or sun to sat';

const playbook = z.strictObject({
  name: z.string().min(1),
  mode: z.enum(['plan', 'apply'], 'must be plan or apply'),
  approvedBy: z.string().min(1).optional(),
});

export const jobSchema = z.strictObject({
  schedule: z.string().refine(isCron, CRON_ERROR).optional().describe('cron expression, five fields'),
  timezone: z
    .string()
    .refine(isTimeZone, {
      error: ({ input }) => `there is no time zone ${input}; give one such as Europe/Berlin or UTC`,
    })
    .default('UTC')
    .describe('IANA zone of the schedule'),
  pull: z
    .union(
      [z.literal('all'), z.literal(false), z.array(z.string().min(1)).min(1)],
      'must be all, false or a list of sources',
    )
    .default('all'),
  reports: z.array(z.string().min(1)).default([]),
  mail: z
    .strictObject({
      to: mailboxes.transform((to) => [to].flat()),
      when: z.enum(['always', 'changed', 'findings'], 'must be always, changed or findings').default('always'),
    })
    .optional(),
  heartbeat: webUrl.optional(),
  playbooks: z.array(playbook).default([]),
});

export interface Job extends z.infer<typeof jobSchema> {
  readonly name: string;
}

function findJobs({ directory }: Pick<Config, 'directory'>): ReadonlyMap<string, string> {
  return discoverFiles(overlayRoots(directory), 'jobs', '.yaml');
}

/** Every job that is valid, and a line for each error in the others. */
export function readJobs(config: Config, env: Environment) {
  const jobs: Job[] = [];
  const problems: string[] = [];
  for (const [name, path] of findJobs(config)) {
    try {
      jobs.push(readJob(config, env, name, path));
    } catch (error) {
      if (!(error instanceof TidemarkError)) throw error;
      problems.push(...error.message.split('\n'));
    }
  }
  return { jobs, problems };
}

/** One job. @throws TidemarkError USAGE naming the closest match, or CONFIG. */
export async function loadJob(config: Config, env: Environment, name: string): Promise<Job> {
  const paths = findJobs(config);
  const path = paths.get(name);
  if (path) return readJob(config, env, name, path);
  throw unknownName('job', name, paths.keys());
}

function readJob({ directory }: Config, env: Environment, name: string, path: string): Job {
  const options = { name: `jobs/${name}.yaml`, env: withEnvFile(directory, env), ...REGULAR_FILE };
  return { name, ...readYamlFile(path, jobSchema, options) };
}

/** The zone in which people mean a day: that of the job `nightly`. Nothing else of its file is read, so its references need not resolve. */
export async function readTimeZone(config: Pick<Config, 'directory'>, env: Environment): Promise<string> {
  const path = findJobs(config).get('nightly');
  if (path === undefined) return 'UTC';
  const schema = z.object({ timezone: jobSchema.shape.timezone });
  return readYamlFile(path, schema, {
    name: 'jobs/nightly.yaml',
    ...REGULAR_FILE,
    env: withEnvFile(config.directory, env),
    isOptional: ([field]) => field !== 'timezone',
  }).timezone;
}

/** Whether a cron expression has five fields, and is due at some time. */
function isCron(expression: string): boolean {
  // node-cron takes a field of seconds as well, and makes a list of every number of a range.
  return splitCron(expression).length === 5 && !/\d{4}/u.test(expression) && validate(expression);
}

function isTimeZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return true;
  } catch {
    return false;
  }
}

export function splitCron(expression: string): readonly string[] {
  return expression.trim().split(/\s+/u);
}
