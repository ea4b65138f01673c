import { existsSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { createConnection } from 'node:net';
import type { Config } from '../config/config.ts';
import { parseSmtpUrl, type SmtpServer } from '../config/smtp-url.ts';
import type { Context } from '../core/context.ts';
import { formatError } from '../core/errors.ts';
import { ServiceError } from '../http/errors.ts';
import type { ServiceClient } from '../services/client.ts';
import { ServiceClients } from '../services/clients.ts';
import type { ServiceResponse } from '../services/response.ts';
import type { SourceDefinition } from '../sources/source.ts';
import { openDatabase } from '../warehouse/database.ts';
import { warehouseFiles } from '../warehouse/publish.ts';
import { selectPulls } from './pull.ts';

/** One thing that `tidemark doctor` looked at. */
export interface Check {
  readonly ok: boolean;
  /** A target's name, `warehouse` or `mail`. */
  readonly about: string;
  readonly check: string;
  readonly detail: string;
}

/** Makes a cheap call or two for every source, and looks at the warehouse and the mail server. Changes nothing anywhere. */
export async function diagnose(config: Config, context: Context): Promise<readonly Check[]> {
  const log = { ...context.log, info: () => {} };
  const clients = new ServiceClients(config, { ...context, log }, context.signal);
  const diagnoses = config.targets.map((target) => diagnoseTarget(config, context, clients.get(target)));
  const targets = await Promise.all(diagnoses).finally(() => clients.close());
  return [...targets.flat(), ...(await diagnoseWarehouse(config)), ...(await diagnoseMail(config))];
}

interface Probe {
  readonly source: SourceDefinition;
  readonly answer?: ServiceResponse;
  readonly error?: unknown;
}

async function diagnoseTarget(
  config: Config,
  { redactor, clock }: Context,
  client: ServiceClient,
): Promise<readonly Check[]> {
  const { target } = client;
  const sources = selectPulls(config, { targets: [target.name] }).map(({ source }) => source);
  const probes = await Promise.all(sources.map((source) => probe(source, client)));
  const say = (ok: boolean, check: string, detail: string) => ({ ok, about: target.name, check, detail });
  if (!probes.some(answered)) return [say(false, 'reachable', redactor.text(formatError(probes[0]?.error)))];
  const refused = probes.some(refusesToken);
  return [
    say(true, 'reachable', target.url),
    say(!refused, 'token', refused ? 'the service refuses it' : 'accepted'),
    ...rateAndClock(probes, clock.now()).map(([ok, check, detail]) => say(ok, check, detail)),
    ...probes.map(({ source, error }) =>
      say(error === undefined, source.name, error === undefined ? 'permitted' : redactor.text(formatError(error))),
    ),
  ];
}

async function probe(source: SourceDefinition, service: ServiceClient): Promise<Probe> {
  try {
    return { source, answer: await source.checkAccess(service) };
  } catch (error) {
    if (error instanceof ServiceError) return { source, error };
    throw error;
  }
}

function answered({ error }: Probe): boolean {
  return error === undefined || (error instanceof ServiceError && error.status !== undefined);
}

function refusesToken({ error }: Probe): boolean {
  return error instanceof ServiceError && error.failure === 'unauthorized';
}

/** More than this off, and tokens, certificates and "silent since" begin to lie. */
const CLOCK_TOLERANCE_S = 60;

function rateAndClock(probes: readonly Probe[], now: Date): readonly (readonly [boolean, string, string])[] {
  const headers = probes.flatMap(({ answer }) => (answer ? [answer.headers] : []));
  const limit = headers.map((all) => all.get('x-ratelimit-limit')).find((value) => value !== null);
  const date = headers.map((all) => Date.parse(all.get('date') ?? '')).find((value) => !Number.isNaN(value));
  const offS = date === undefined ? undefined : Math.round((now.getTime() - date) / 1000);
  return [
    [
      true,
      'rate limit',
      limit === undefined || limit === null ? 'the service tells none' : `${limit} requests a second`,
    ],
    ...(offS === undefined
      ? []
      : [[Math.abs(offS) <= CLOCK_TOLERANCE_S, 'clock', `${offS} s from the service's`] as const]),
  ];
}

async function diagnoseWarehouse(config: Config): Promise<readonly Check[]> {
  const { published } = warehouseFiles(config.data);
  const say = (ok: boolean, check: string, detail: string) => ({ ok, about: 'warehouse', check, detail });
  if (!existsSync(published)) return [say(true, 'published', `none yet at ${published}: \`tidemark pull\` makes it`)];
  const { size } = await stat(published);
  const { bavail, bsize } = await statfs(config.data);
  const space = say(
    bavail * bsize > 3 * size,
    'space',
    `${mebibytes(bavail * bsize)} free, the file has ${mebibytes(size)}`,
  );
  try {
    (await openDatabase(published, { readOnly: true })).close();
    return [say(true, 'published', published), space];
  } catch (error) {
    return [say(false, 'published', formatError(error)), space];
  }
}

function mebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024 / 1024)} MiB`;
}

const MAIL_TIMEOUT_MS = 5_000;

/** Whether something listens; whether it takes the mail is for `tidemark mail JOB --to ME` to show. */
async function diagnoseMail({ mail }: Config): Promise<readonly Check[]> {
  if (!mail) return [];
  const { host, port } = parseSmtpUrl(mail.smtp) as SmtpServer; // the configuration was taken with it
  const place = { host, port };
  const problem = await new Promise<string | undefined>((done) => {
    const socket = createConnection({ ...place, timeout: MAIL_TIMEOUT_MS });
    socket.once('connect', () => done(undefined));
    socket.once('timeout', () => done('no answer'));
    socket.once('error', (error) => done(error.message));
    socket.once('connect', () => socket.destroy());
    socket.once('timeout', () => socket.destroy());
  });
  return [
    { ok: problem === undefined, about: 'mail', check: 'reachable', detail: problem ?? `${place.host}:${place.port}` },
  ];
}
