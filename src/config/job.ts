import { validateDetailed } from 'node-cron';
import { z } from 'zod';
import { TidemarkError } from '../core/errors.ts';
import { discoverFiles, overlayRoots } from '../core/paths.ts';
import type { Config } from './config.ts';
import { type Environment, withEnvFile } from './references.ts';
import { mailboxes, webUrl } from './schema.ts';
import { unknownName } from './suggest.ts';
import { readYamlFile } from './yaml.ts';

/** A text for which `validate` returns no error. */
const validated = (validate: (text: string) => string | undefined) =>
  z.string().superRefine((text, context) => {
    const message = validate(text);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });

export const jobSchema = z.strictObject({
  schedule: validated(cronError).optional().describe('cron expression, five fields'),
  timezone: validated(timeZoneError).default('UTC').describe('IANA zone of the schedule'),
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
  playbooks: z
    .array(
      z.strictObject({
        name: z.string().min(1),
        mode: z.enum(['plan', 'apply'], 'must be plan or apply'),
        approvedBy: z.string().min(1).optional(),
      }),
    )
    .default([]),
});

export interface Job extends z.infer<typeof jobSchema> {
  readonly name: string;
}

/** The files of the jobs of the configuration's directory and of the package, by name. */
function findJobs({ directory }: Pick<Config, 'directory'>): ReadonlyMap<string, string> {
  return discoverFiles(overlayRoots(directory), 'jobs', '.yaml');
}

/** Every job, by name. @throws TidemarkError CONFIG naming file and field. */
export async function loadJobs(config: Config, env: Environment): Promise<ReadonlyMap<string, Job>> {
  const errors: string[] = [];
  const jobs = new Map<string, Job>();
  for (const [name, path] of findJobs(config)) {
    try {
      jobs.set(name, readJob(config, env, name, path));
    } catch (error) {
      if (!(error instanceof TidemarkError)) throw error;
      errors.push(error.message);
    }
  }
  if (errors.length > 0) throw new TidemarkError('CONFIG', errors.join('\n'));
  return jobs;
}

/** One job. @throws TidemarkError USAGE naming the closest match, or CONFIG. */
export async function loadJob(config: Config, env: Environment, name: string): Promise<Job> {
  const paths = findJobs(config);
  const path = paths.get(name);
  if (path) return readJob(config, env, name, path);
  throw unknownName('job', name, paths.keys());
}

function readJob({ directory }: Config, env: Environment, name: string, path: string): Job {
  return { name, ...readYamlFile(path, jobSchema, withEnvFile(directory, env)) };
}

/** The zone in which people mean a day: that of the job `nightly`. Nothing else of its file is read, so its references need not resolve. */
export async function readTimeZone(config: Pick<Config, 'directory'>, env: Environment): Promise<string> {
  const path = findJobs(config).get('nightly');
  if (path === undefined) return 'UTC';
  const schema = z.object({ timezone: jobSchema.shape.timezone });
  return readYamlFile(path, schema, withEnvFile(config.directory, env), ([field]) => field !== 'timezone').timezone;
}

/** The error in a cron expression of five fields, as the end of a sentence; undefined when it is valid. */
export function cronError(expression: string): string | undefined {
  const fields = splitCron(expression);
  if (fields.length !== 5) return 'must have five fields: minute, hour, day of month, month, day of week';
  // node-cron makes a list of every number of a range.
  const index = fields.findIndex((field) => /\d{4}/u.test(field));
  if (index >= 0) return describeField(Object.keys(CRON_FIELDS)[index], fields[index]);
  return validateDetailed(expression).errors.map(formatCronError).join('; ') || undefined;
}

type CronError = ReturnType<typeof validateDetailed>['errors'][number];

/** What a field of a cron expression may contain, by node-cron's name of the field, in their order. */
const CRON_FIELDS: Readonly<Record<string, readonly [name: string, values: string]>> = {
  minute: ['minute', '0 to 59'],
  hour: ['hour', '0 to 23'],
  dayOfMonth: ['day of month', '1 to 31'],
  month: ['month', '1 to 12, or jan to dec'],
  dayOfWeek: ['day of week', '0 to 7, or sun to sat'],
};

function formatCronError({ field = '', value, message }: CronError): string {
  const [name] = CRON_FIELDS[field] ?? [];
  if (name === undefined) return message;
  return message.includes('is a invalid expression') ? describeField(field, value) : `${name}: ${message}`;
}

function describeField(field = '', value = ''): string {
  const [name, values] = CRON_FIELDS[field] ?? [];
  return `${name}: ${value} is not valid; give ${values}`;
}

/** The error in the name of a time zone; undefined when the runtime has it. */
export function timeZoneError(zone: string): string | undefined {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return undefined;
  } catch {
    return `there is no time zone ${zone}; give one such as Europe/Berlin or UTC`;
  }
}

export function splitCron(expression: string): readonly string[] {
  return expression.trim().split(/\s+/u);
}
