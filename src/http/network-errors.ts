import { formatSeconds } from '../core/clock.ts';
import type { HttpFailure } from './errors.ts';
import type { HttpTimeouts } from './timeouts.ts';

/** OpenSSL's names of certificates that do not verify and of failed handshakes. Another attempt does not help. */
const UNTRUSTED =
  /^(?:CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT|ERR_SSL|ERR_OSSL|EPROTO|HOSTNAME_MISMATCH)/u;

/**
 * Whether an error comes from the network. Fetch throws `TypeError` for all of these, with the error of undici or of the system
 * as its cause; a body that does not decompress fails with zlib's own. Anything else, such as a full disk, is not the
 * service's.
 */
export function isNetworkError(error: unknown): boolean {
  if (error instanceof TypeError) return error.cause !== undefined || error.message === 'terminated';
  return error instanceof Error && 'code' in error && /^(?:UND_ERR_|Z_)/u.test(String(error.code));
}

/** What a network error means. `hasResponse` says that the response headers had arrived. */
export function classifyNetworkError(error: unknown, timeouts: HttpTimeouts, hasResponse: boolean): HttpFailure {
  const codes = collectCodes(error);
  if (codes.includes('UND_ERR_CONNECT_TIMEOUT')) {
    return problem('timeout', `no connection within ${formatSeconds(timeouts.connectMs)}`);
  }
  if (codes.includes('ECONNREFUSED')) return problem('unreachable', 'connection refused', { notProcessed: true });
  const untrusted = codes.find((code) => UNTRUSTED.test(code));
  if (untrusted) {
    return problem('unreachable', `the TLS connection failed: ${untrusted}`, {
      retryable: 'no',
      hint: 'set `caFile` (and `clientCert`, `clientKey`) of this target to what the service uses',
    });
  }
  const proxyStatus = findProxyStatus(error);
  if (proxyStatus !== undefined) {
    return problem('unreachable', `the proxy answered ${proxyStatus}`, {
      retryable: proxyStatus < 500 ? 'no' : 'yes',
      notProcessed: true,
      hint: 'check HTTPS_PROXY, its user and password, and whether this host belongs in NO_PROXY',
    });
  }
  if (codes.includes('UND_ERR_HEADERS_OVERFLOW')) {
    return problem('too-large', 'the response headers are larger than allowed', {
      retryable: 'no',
      hint: 'check `url` of this target: no service is known to send such headers',
    });
  }
  if (isInvalidHttp(error)) {
    return problem('malformed', 'the response is not valid HTTP', {
      retryable: 'few',
      hint: 'check `url` of this target: something else than the service may respond there',
    });
  }
  const code = codes[0];
  if (hasResponse) return problem('truncated', `the response was cut off${code ? ` (${code})` : ''}`);
  return problem('unreachable', code ? `no connection (${code})` : 'no connection');
}

function problem(failure: HttpFailure['failure'], message: string, details: Partial<HttpFailure> = {}): HttpFailure {
  return { failure, message, retryable: 'yes', notProcessed: false, ...details };
}

/** undici's parser fails with errors of several kinds; an invalid status is an assertion. */
function isInvalidHttp(error: unknown): boolean {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (['HTTPParserError', 'AssertionError'].includes(inner.name) || inner.message === 'bad response') return true;
  }
  return false;
}

/** The status with which a proxy refused a tunnel. undici gives it in the error message only. */
function findProxyStatus(error: unknown): number | undefined {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    const status = /^Proxy response \((\d{3})\)/u.exec(inner.message)?.[1];
    if (status !== undefined) return Number(status);
  }
  return undefined;
}

/** Codes of an error and its causes, outermost first. Their messages are not used: they may repeat what was sent. */
function collectCodes(error: unknown): string[] {
  const codes: string[] = [];
  for (let inner = error; inner instanceof Error && codes.length < 8; inner = inner.cause) {
    if ('code' in inner && typeof inner.code === 'string') codes.push(inner.code);
  }
  return codes;
}
