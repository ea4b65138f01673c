import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

export interface AccessRules {
  /** Names that the `Host` header may have, besides addresses and `localhost`. */
  readonly hosts: readonly string[];
  /** Undefined where only this machine can connect. */
  readonly token: string | undefined;
}

/**
 * Whether a request may be answered. The server reads and never writes, so what remains is who reads: a page of another site must not
 * read through a browser (its requests and its names are refused), and another machine needs the token.
 * @returns the status, the message and the headers of the refusal; undefined for a request that is answered
 */
export function checkAccess(request: IncomingMessage, rules: AccessRules) {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return { status: 405, message: 'only GET is answered', headers: { allow: 'GET, HEAD' } };
  }
  if (!isKnownHost(request.headers.host ?? '', rules.hosts)) {
    return { status: 421, message: 'this server does not have that name; name it with --allow-host' };
  }
  if (isFromOtherSite(request)) return { status: 403, message: 'requests of other sites are refused' };
  if (rules.token !== undefined && !hasToken(request.headers.authorization ?? '', rules.token)) {
    return {
      status: 401,
      message: 'the token is missing or wrong',
      headers: { 'www-authenticate': 'Basic realm="tidemark", charset="UTF-8"' },
    };
  }
  return URL.canParse(toAddress(request)) ? undefined : { status: 400, message: 'the address is malformed' };
}

/** The name of the server is checked, and matters no more. */
export function toAddress({ url }: IncomingMessage): string {
  return `http://localhost${url}`;
}

/** A name that an attacker's DNS may point here is refused; an address cannot be rebound. */
export function isKnownHost(header: string, hosts: readonly string[]): boolean {
  const name = header.toLowerCase().replace(/:\d+$/u, '');
  const address = name.startsWith('[') ? name.slice(1, -1) : name;
  return isIP(address) !== 0 || name === 'localhost' || hosts.includes(name);
}

/** A link to a page may come from anywhere; nothing else may. */
function isFromOtherSite(request: IncomingMessage): boolean {
  const { headers } = request;
  return (
    isLedByOtherSite(request) && (headers['sec-fetch-mode'] !== 'navigate' || headers['sec-fetch-dest'] !== 'document')
  );
}

/** Whether a page of another site made the request, or led the reader here. Such a request runs no query of a person. */
export function isLedByOtherSite({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  return site !== undefined && site !== 'same-origin' && site !== 'none';
}

/**
 * Whether a page of this server made the request. Browsers say so themselves, except over plain HTTP to another machine: there they
 * only send the page, to its own origin.
 */
export function isOwnRequest({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { referer = '', host = '' } = headers;
  return URL.canParse(referer) && new URL(referer).host === host.toLowerCase();
}

/** `Bearer TOKEN`, or `Basic` with the token as the password. */
function hasToken(authorization: string, token: string): boolean {
  const [scheme = '', value = ''] = authorization.split(' ', 2);
  if (scheme.toLowerCase() === 'bearer') return isEqual(value, token);
  if (scheme.toLowerCase() !== 'basic') return false;
  const [, password = ''] = /^[^:]*:([\s\S]*)$/u.exec(Buffer.from(value, 'base64').toString('utf8')) ?? [];
  return isEqual(password, token);
}

/** In a time that depends on neither text. */
function isEqual(given: string, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}

/** Headers of every response. Pages load nothing from elsewhere, and other sites neither frame nor read them. */
export function securityHeaders(nonce: string): Readonly<Record<string, string>> {
  const policy = [
    `default-src 'none'`,
    `script-src 'nonce-${nonce}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    `img-src 'self' data:`,
    `connect-src 'self'`,
    `form-action 'self'`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
  ];
  return {
    'content-security-policy': policy.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cache-control': 'no-store',
  };
}
