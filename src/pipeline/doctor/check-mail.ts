import { createConnection } from 'node:net';
import type { Config } from '../../config/config.ts';
import { parseSmtpUrl, type SmtpServer } from '../../config/smtp-url.ts';
import type { Check } from './check.ts';

const MAIL_TIMEOUT_MS = 5_000;

/** Checks that the mail server is reachable. `tidemark mail JOB --to ADDRESS` tests the delivery. */
export async function checkMail({ mail }: Config): Promise<readonly Check[]> {
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
