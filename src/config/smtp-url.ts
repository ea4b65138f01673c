/** A mail server as `mail.smtp` names it. */
export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (`smtps:`); else by STARTTLS. */
  readonly secure: boolean;
  /** Empty where nobody logs in. */
  readonly user: string;
  readonly password: string;
}

export const SMTP_ERROR =
  'must be smtp://USER:PASSWORD@HOST:PORT or smtps://…; a `/`, `?` or `#` in the password is written as %2F, %3F or %23';

/** Submission (RFC 6409), and submission over TLS (RFC 8314). */
const PORTS = { 'smtp:': 587, 'smtps:': 465 } as const;

/** Reads `smtp://USER:PASSWORD@HOST:PORT` or `smtps://…`; undefined when it is neither. */
export function parseSmtpUrl(text: string): SmtpServer | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(text);
  if ((protocol !== 'smtp:' && protocol !== 'smtps:') || hostname === '') return undefined;
  if (pathname.replace('/', '') !== '' || search !== '' || hash !== '') return undefined;
  return {
    host: decoded(hostname).replace(/^\[|\]$/gu, ''),
    port: Number(port) || PORTS[protocol],
    secure: protocol === 'smtps:',
    user: decoded(username),
    password: decoded(password),
  };
}

/** A password may hold a bare `%`. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
