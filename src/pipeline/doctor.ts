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

/** The result of one check. */
export interface Check {
  readonly ok: boolean;
  /** A target's name, `warehouse` or `mail`. */
  readonly about: string;
  readonly check: string;
  readonly detail: string;
}

/** Checks every source with one or two cheap calls, the warehouse and the mail server. Changes nothing. */
export async function diagnose(
  config: Config,
  context: Context,
  sources?: readonly SourceDefinition[],
): Promise<readonly Check[]> {
  const log = { ...context.log, info: () => {} };
  const clients = new ServiceClients(config, { ...context, log }, context.signal);
  const diagnoses = config.targets.map((target) => diagnoseTarget(config, context, clients.get(target), sources));
  const targets = await Promise.all(diagnoses).finally(() => clients.close());
  return [...targets.flat(), ...(await diagnoseWarehouse(config)), ...(await diagnoseMail(config))];
}

interface AccessResult {
  readonly source: SourceDefinition;
  readonly response?: ServiceResponse;
  readonly error?: unknown;
}

async function diagnoseTarget(
  config: Config,
  { redactor, clock }: Context,
  client: ServiceClient,
  known?: readonly SourceDefinition[],
): Promise<readonly Check[]> {
  const { target } = client;
  const sources = selectPulls(config, { targets: [target.name] }, known).map(({ source }) => source);
  const results = await Promise.all(sources.map((source) => checkAccess(source, client)));
  const toCheck = (ok: boolean, check: string, detail: string) => ({ ok, about: target.name, check, detail });
  if (!results.some(hasResponded)) return [toCheck(false, 'reachable', redactor.text(formatError(results[0]?.error)))];
  const isRejected = results.some(rejectsToken);
  return [
    toCheck(true, 'reachable', target.url),
    toCheck(!isRejected, 'token', isRejected ? 'rejected by the service' : 'accepted'),
    ...checkHeaders(results, clock.now()).map(([ok, check, detail]) => toCheck(ok, check, detail)),
    ...results.map(({ source, error }) =>
      toCheck(error === undefined, source.name, error === undefined ? 'permitted' : redactor.text(formatError(error))),
    ),
  ];
}

async function checkAccess(source: SourceDefinition, service: ServiceClient): Promise<AccessResult> {
  try {
    return { source, response: await source.checkAccess(service) };
  } catch (error) {
    if (error instanceof ServiceError) return { source, error };
    throw error;
  }
}

function hasResponded({ error }: AccessResult): boolean {
  return error === undefined || (error instanceof ServiceError && error.status !== undefined);
}

function rejectsToken({ error }: AccessResult): boolean {
  return error instanceof ServiceError && error.failure === 'unauthorized';
}

/** A larger difference makes tokens, certificates and ages of agents wrong. */
const MAX_CLOCK_OFFSET_S = 60;

function checkHeaders(results: readonly AccessResult[], now: Date): readonly (readonly [boolean, string, string])[] {
  const headers = results.flatMap(({ response }) => (response ? [response.headers] : []));
  const limit = headers.map((all) => all.get('x-ratelimit-limit')).find((value) => value !== null);
  const date = headers.map((all) => Date.parse(all.get('date') ?? '')).find((value) => !Number.isNaN(value));
  const offS = date === undefined ? undefined : Math.round((now.getTime() - date) / 1000);
  return [
    [true, 'rate limit', limit === undefined || limit === null ? 'not reported' : `${limit} requests per second`],
    ...(offS === undefined
      ? []
      : [[Math.abs(offS) <= MAX_CLOCK_OFFSET_S, 'clock', `${offS} s ahead of the service`] as const]),
  ];
}

async function diagnoseWarehouse(config: Config): Promise<readonly Check[]> {
  const { published } = warehouseFiles(config.data);
  const toCheck = (ok: boolean, check: string, detail: string) => ({ ok, about: 'warehouse', check, detail });
  if (!existsSync(published)) {
    return [toCheck(true, 'published', `none yet at ${published}: \`tidemark pull\` creates it`)];
  }
  const { size } = await stat(published);
  const { bavail, bsize } = await statfs(config.data);
  const space = toCheck(
    bavail * bsize > 3 * size,
    'space',
    `${formatMebibytes(bavail * bsize)} free, the file takes ${formatMebibytes(size)}`,
  );
  try {
    (await openDatabase(published, { readOnly: true })).close();
    return [toCheck(true, 'published', published), space];
  } catch (error) {
    return [toCheck(false, 'published', formatError(error)), space];
  }
}

function formatMebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024 / 1024)} MiB`;
}

const MAIL_TIMEOUT_MS = 5_000;

/** Checks that the mail server is reachable. `tidemark mail JOB --to ADDRESS` tests the delivery. */
async function diagnoseMail({ mail }: Config): Promise<readonly Check[]> {
  if (!mail) return [];
  const { host, port } = parseSmtpUrl(mail.smtp) as SmtpServer; // validated with the configuration
  const error = await new Promise<string | undefined>((done) => {
    const socket = createConnection({ host, port, timeout: MAIL_TIMEOUT_MS });
    socket.once('connect', () => done(undefined));
    socket.once('timeout', () => done('timed out'));
    socket.once('error', ({ message }) => done(message));
    socket.once('connect', () => socket.destroy());
    socket.once('timeout', () => socket.destroy());
  });
  return [{ ok: error === undefined, about: 'mail', check: 'reachable', detail: error ?? `${host}:${port}` }];
}
