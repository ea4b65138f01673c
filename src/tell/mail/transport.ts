import { rootCertificates } from 'node:tls';
import { createTransport } from 'nodemailer';
import type { Config } from '../../config/config.ts';
import { parseMailAddress, parseSmtpUrl, type SmtpServer } from '../../config/mail.ts';
import { TidemarkError } from '../../core/errors.ts';
import { isLoopback } from '../../core/loopback.ts';
import { readPem } from '../../http/transport.ts';

/** The parsed `mail:` section of the configuration. */
export type MailSettings = Readonly<ReturnType<typeof resolveMailSettings>>;

/** @throws TidemarkError CONFIG where the configuration has no `mail:` section */
export function resolveMailSettings({ mail }: Pick<Config, 'mail'>) {
  const server = mail && parseSmtpUrl(mail.smtp);
  const sender = mail && parseMailAddress(mail.from);
  if (server && sender) return { server, sender, routes: mail.routes, caFile: mail.caFile };
  throw new TidemarkError('CONFIG', 'tidemark.yaml: mail: is missing, but required to send mail', {
    hint: 'set smtp and from, such as smtp://127.0.0.1:25 and Tidemark <reports@acme.example>',
  });
}

/** What a preview needs: the sender and the routes, or a sender of this machine where no mail server is configured. */
export function resolvePreviewSettings(config: Pick<Config, 'mail'>): Pick<MailSettings, 'sender' | 'routes'> {
  if (config.mail) return resolveMailSettings(config);
  return { sender: { name: 'Tidemark', address: 'tidemark@localhost' }, routes: [] };
}

/** The warehouse is locked while mail is sent, so they are shorter than nodemailer's defaults of minutes. */
export const TIMEOUTS = {
  connectMs: 10_000,
  /** A server may look for viruses and spam before it accepts a message: given up earlier, it would be delivered again every night. */
  idleMs: 120_000,
  /** For one message with all of its files: a server that answers a little at a time is never idle. */
  messageMs: 600_000,
};
export type MailTimeouts = Readonly<typeof TIMEOUTS>;

export interface TransportOptions {
  readonly server: SmtpServer;
  /** PEM file of certificate authorities to trust beside those of Node. */
  readonly caFile?: string | undefined;
  readonly timeouts?: Pick<MailTimeouts, 'connectMs' | 'idleMs'>;
  /** Hosts for which encryption is optional. @default loopback */
  readonly isLocal?: (host: string) => boolean;
}

/**
 * A connection to a mail server. It requires TLS and a valid certificate, except on loopback, where the traffic does not leave the
 * machine.
 */
export function openTransport({ server, caFile, timeouts = TIMEOUTS, isLocal = isLoopback }: TransportOptions) {
  const { host, port, secure, user, password } = server;
  const local = isLocal(host);
  const ca = caFile === undefined ? {} : { ca: [...rootCertificates, readPem(caFile, 'mail.caFile')] };
  return createTransport({
    host,
    port,
    secure,
    requireTLS: !secure && !local,
    tls: { rejectUnauthorized: !local, ...ca },
    ...(user && { auth: { user, pass: password } }),
    connectionTimeout: timeouts.connectMs,
    greetingTimeout: timeouts.connectMs,
    socketTimeout: timeouts.idleMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}
