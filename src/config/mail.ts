import { decodeUri } from '../core/decode-uri.ts';
import { cutText } from '../core/log.ts';

/** A mailbox in its parts, so that no library parses it again: a name with a comma must not become two recipients. */
export type MailAddress = Readonly<NonNullable<ReturnType<typeof parseMailAddress>>>;

/** Control, format (such as bidirectional marks) and separator characters, which a header must not contain. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
/** A quoted name may contain the characters that otherwise separate addresses. */
const MAILBOX = /^(?:(?:"(?<quoted>[^"\\]*)"|(?<name>[^"<>@,;]*?))\s*<(?<inner>[^<>\s]+)>|(?<bare>[^<>\s]+))$/u;
/** RFC 5322 addr-spec without quoting and comments; letters beyond ASCII are allowed. */
const ADDRESS = /^[^\s@"(),:;<>[\]\\]+@[^\s@"(),:;<>[\]\\.]+(?:\.[^\s@"(),:;<>[\]\\.]+)*$/u;

/** Reads `a@b.example`, whose name is empty, or `Name <a@b.example>`; undefined for anything else. */
export function parseMailAddress(text: string) {
  if (INVISIBLE.test(text)) return undefined;
  const { quoted, name, inner, bare } = MAILBOX.exec(text.trim())?.groups ?? {};
  const address = inner ?? bare ?? '';
  return ADDRESS.test(address) ? { name: (quoted ?? name ?? '').trim(), address } : undefined;
}

export const ADDRESS_ERROR = 'must be one address, such as team@acme.example or Team <team@acme.example>';

/** Text for a header or a line of a mail: one line, without invisible characters, at most `maxLength` characters long. */
export function sanitizeHeader(text: string, maxLength: number): string {
  const clean = text.replaceAll(/\s+/gu, ' ').replaceAll(new RegExp(INVISIBLE.source, 'gu'), '').trim();
  return clean.length > maxLength ? `${cutText(clean, maxLength - 1)}…` : clean;
}

/** The mail server of `mail.smtp`. */
export type SmtpServer = Readonly<NonNullable<ReturnType<typeof parseSmtpUrl>>>;

export const SMTP_ERROR =
  'must be smtp://USER:PASSWORD@HOST:PORT or smtps://…; a `/`, `?` or `#` in the password is written as %2F, %3F or %23';

/** Submission (RFC 6409), and submission over TLS (RFC 8314). */
const PORTS = { 'smtp:': 587, 'smtps:': 465 } as const;

/** Reads `smtp://USER:PASSWORD@HOST:PORT` or `smtps://…`; undefined for anything else. */
export function parseSmtpUrl(text: string) {
  if (!URL.canParse(text)) return undefined;
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(text);
  if ((protocol !== 'smtp:' && protocol !== 'smtps:') || hostname === '') return undefined;
  if (pathname.replace('/', '') !== '' || search !== '' || hash !== '') return undefined;
  return {
    host: decodeUri(hostname).replace(/^\[|\]$/gu, ''),
    port: Number(port) || PORTS[protocol],
    /** TLS from the first byte, otherwise STARTTLS. */
    secure: protocol === 'smtps:',
    /** Empty when there is no login. */
    user: decodeUri(username),
    password: decodeUri(password),
  };
}
