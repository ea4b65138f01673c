import { createTransport, type Transporter } from 'nodemailer';

/** Milliseconds; nodemailer's own are minutes, for which the warehouse would be locked. */
export interface MailTimeouts {
  readonly connectMs: number;
  readonly silentMs: number;
}

const TIMEOUTS: MailTimeouts = { connectMs: 10_000, silentMs: 30_000 };

export interface TransportOptions {
  /** `smtp://USER:PASSWORD@HOST:PORT` or `smtps://…` */
  readonly smtp: string;
  /** PEM of authorities beside those of Node. */
  readonly ca?: string;
  readonly timeouts?: MailTimeouts;
}

/**
 * A connection to a mail server. Beyond this machine it is encrypted and the certificate checked, or nothing is sent; on loopback
 * nobody stands between, so that any certificate, or none, will do.
 */
export function openTransport({ smtp, ca, timeouts = TIMEOUTS }: TransportOptions): Transporter {
  const { protocol, hostname, port, username, password } = new URL(smtp);
  const host = hostname.replace(/^\[|\]$/gu, '');
  const secure = protocol === 'smtps:';
  const near = isLoopback(host);
  return createTransport({
    host,
    port: Number(port) || (secure ? 465 : 587),
    secure,
    requireTLS: !secure && !near,
    tls: { rejectUnauthorized: !near, ...(ca !== undefined && { ca }) },
    ...(username && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: timeouts.connectMs,
    greetingTimeout: timeouts.connectMs,
    socketTimeout: timeouts.silentMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/u.test(host);
}
