/** The mail server of `mail.smtp`. */
export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (`smtps:`), otherwise STARTTLS. */
  readonly secure: boolean;
  /** Empty when there is no login. */
  readonly user: string;
  readonly password: string;
}

export const SMTP_ERROR =
  'must be smtp://USER:PASSWORD@HOST:PORT or smtps://…; a `/`, `?` or `#` in the password is written as %2F, %3F or %23';

/** Submission (RFC 6409), and submission over TLS (RFC 8314). */
const PORTS = { 'smtp:': 587, 'smtps:': 465 } as const;

/** Reads `smtp://USER:PASSWORD@HOST:PORT` or `smtps://…`; undefined for anything else. */
export function parseSmtpUrl(text: string): SmtpServer | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(text);
  if ((protocol !== 'smtp:' && protocol !== 'smtps:') || hostname === '') return undefined;
  if (pathname.replace('/', '') !== '' || search !== '' || hash !== '') return undefined;
  return {
    host: decode(hostname).replace(/^\[|\]$/gu, ''),
    port: Number(port) || PORTS[protocol],
    secure: protocol === 'smtps:',
    user: decode(username),
    password: decode(password),
  };
}

/** Returns the text unchanged when it is not encoded: a password may contain a bare `%`. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
