import { existsSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { createConnection } from 'node:net';
import type { Config } from '../../config/config.ts';
import { parseSmtpUrl, type SmtpServer } from '../../config/mail.ts';
import type { Context } from '../../core/context.ts';
import { formatError } from '../../core/errors.ts';
import { overlayRoots } from '../../core/paths.ts';
import { secretWeakness } from '../../core/redact/redactor.ts';
import { ServiceClients } from '../../services/clients.ts';
import { sources as builtInSources } from '../../sources/index.ts';
import type { SourceDefinition } from '../../sources/source.ts';
import { openDatabase } from '../../warehouse/database.ts';
import { warehouseFiles } from '../../warehouse/publish.ts';
import { createSqlFiles } from '../../warehouse/sql-files.ts';
import { type Check, CheckList } from './check.ts';
import { checkTarget } from './check-target.ts';

export type { Check } from './check.ts';

/** Checks every target and its sources with a few cheap calls, the warehouse and the mail server. Changes nothing. */
export async function diagnose(
  config: Config,
  context: Context,
  sources: readonly SourceDefinition[] = builtInSources,
): Promise<readonly Check[]> {
  const log = { ...context.log, info: () => {} };
  const clients = new ServiceClients(config, { ...context, log }, context.signal);
  const files = createSqlFiles(overlayRoots(config.directory));
  const checks = config.targets.map((target) => checkTarget({ ...context, files }, clients, target, sources));
  const targets = await Promise.all(checks).finally(() => clients.close());
  return [...checkSecrets(config), ...targets.flat(), ...(await checkWarehouse(config)), ...(await checkMail(config))];
}

/** Refuses secrets that cannot be masked wherever they appear. */
function checkSecrets(config: Config): readonly Check[] {
  const list = new CheckList('configuration');
  for (const { name, secret } of listSecrets(config)) {
    const weakness = secretWeakness(secret);
    if (weakness === undefined) continue;
    list.fail(name, `refused: it ${weakness}, so it is masked only as a whole value; use a longer, random one`);
  }
  return list.checks;
}

function listSecrets({ targets, mail }: Config) {
  const password = mail && parseSmtpUrl(mail.smtp)?.password;
  return [
    ...targets.flatMap(({ name, token, writeToken }) => [
      { name: `token of ${name}`, secret: token },
      { name: `writeToken of ${name}`, secret: writeToken },
    ]),
    { name: 'password of mail', secret: password },
  ].flatMap(({ name, secret }) => (secret ? [{ name, secret }] : []));
}

async function checkWarehouse(config: Config): Promise<readonly Check[]> {
  const list = new CheckList('warehouse');
  const { published } = warehouseFiles(config.data);
  if (!existsSync(published)) {
    list.ok('published', `none yet at ${published}: \`tidemark pull\` creates it`);
    return list.checks;
  }
  try {
    (await openDatabase(published, { readOnly: true })).close();
    list.ok('published', published);
  } catch (error) {
    list.fail('published', formatError(error));
  }
  const { size } = await stat(published);
  const { bavail, bsize } = await statfs(config.data);
  const free = bavail * bsize;
  const detail = `${formatMebibytes(free)} free, the file takes ${formatMebibytes(size)}`;
  if (free > 3 * size) list.ok('space', detail);
  else list.fail('space', detail);
  return list.checks;
}

function formatMebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024 / 1024)} MiB`;
}

const MAIL_TIMEOUT_MS = 5_000;

/** Checks that the mail server is reachable. `tidemark mail JOB --to ADDRESS` tests the delivery. */
async function checkMail({ mail }: Config): Promise<readonly Check[]> {
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
