import { rootCertificates } from 'node:tls';
import { createTransport, type Transporter } from 'nodemailer';
import type { SmtpServer } from '../core/smtp-url.ts';

/** Milliseconds; nodemailer's own are minutes, for which the warehouse would be locked. */
export interface MailTimeouts {
  readonly connectMs: number;
  readonly silentMs: number;
}

const TIMEOUTS: MailTimeouts = { connectMs: 10_000, silentMs: 30_000 };

export interface TransportOptions {
  readonly server: SmtpServer;
  /** PEM of authorities that a certificate may come from, beside those of Node. */
  readonly ca?: string;
  readonly timeouts?: MailTimeouts;
  /** Hosts that nobody stands before. @default loopback */
  readonly near?: (host: string) => boolean;
}

/**
 * A connection to a mail server. Beyond this machine it is encrypted and the certificate checked, or nothing is sent; on loopback
 * nobody stands between, so that any certificate, or none, will do.
 */
export function openTransport({ server, ca, timeouts = TIMEOUTS, near = isLoopback }: TransportOptions): Transporter {
  const { host, port, secure, user, password } = server;
  const isNear = near(host);
  return createTransport({
    host,
    port,
    secure,
    requireTLS: !secure && !isNear,
    tls: { rejectUnauthorized: !isNear, ...(ca !== undefined && { ca: [...rootCertificates, ca] }) },
    ...(user && { auth: { user, pass: password } }),
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
