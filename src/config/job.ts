import { z } from 'zod';
import { TidemarkError } from '../core/errors.ts';
import { discoverFiles, overlayRoots } from '../core/paths.ts';
import type { Config } from './config.ts';
import { cronError, timeZoneError } from './cron.ts';
import { ADDRESS_ERROR, parseMailAddress } from './mail-address.ts';
import { closestMatch, readYamlFile } from './yaml.ts';

/** A text that `problemOf` finds nothing wrong with. */
const checked = (problemOf: (text: string) => string | undefined) =>
  z.string().superRefine((text, context) => {
    const message = problemOf(text);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });

const address = z.string().refine((text) => parseMailAddress(text) !== undefined, ADDRESS_ERROR);
const addresses = z.union([address, z.array(address).min(1)], ADDRESS_ERROR).transform((to) => [to].flat());

const jobSchema = z.strictObject({
  schedule: checked(cronError).optional().describe('cron expression, five fields'),
  timezone: checked(timeZoneError).default('UTC').describe('IANA zone of the schedule'),
  pull: z
    .union(
      [z.literal('all'), z.literal(false), z.array(z.string().min(1)).min(1)],
      'must be all, false or a list of sources',
    )
    .default('all'),
  reports: z.array(z.string().min(1)).default([]),
  mail: z
    .strictObject({
      to: addresses,
      when: z.enum(['always', 'changed', 'findings'], 'must be always, changed or findings').default('always'),
    })
    .optional(),
  heartbeat: z.url({ protocol: /^https?$/u, error: 'must be a URL that begins with https:// or http://' }).optional(),
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

/** Every job beside the configuration or in the package, by name. @throws TidemarkError CONFIG naming file and field. */
export async function loadJobs(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
): Promise<ReadonlyMap<string, Job>> {
  const paths = await discoverFiles(overlayRoots(config.directory), 'jobs', '.yaml');
  const wrong: string[] = [];
  const jobs = [...paths].flatMap(([name, path]): [string, Job][] => {
    try {
      return [[name, { name, ...readYamlFile(path, jobSchema, env, knownKeys) }]];
    } catch (error) {
      if (!(error instanceof TidemarkError)) throw error;
      wrong.push(error.message);
      return [];
    }
  });
  if (wrong.length > 0) throw new TidemarkError('CONFIG', wrong.join('\n'));
  return new Map(jobs);
}

/** One job. @throws TidemarkError USAGE naming the nearest. */
export async function loadJob(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
  name: string,
): Promise<Job> {
  const paths = await discoverFiles(overlayRoots(config.directory), 'jobs', '.yaml');
  const path = paths.get(name);
  if (path) return { name, ...readYamlFile(path, jobSchema, env, knownKeys) };
  const nearest = closestMatch(name, paths.keys());
  throw new TidemarkError('USAGE', `unknown job ${name}`, {
    hint: nearest ? `did you mean ${nearest}?` : `known are ${[...paths.keys()].join(', ')}`,
  });
}

function knownKeys(path: readonly PropertyKey[]): readonly string[] {
  if (path.length === 0) return Object.keys(jobSchema.shape);
  return path[0] === 'mail' ? ['to', 'when'] : ['name', 'mode', 'approvedBy'];
}
