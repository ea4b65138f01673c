import type { Problem } from './outcome.ts';
import { seconds, type Timing } from './timing.ts';

/** Certificates that do not verify, by OpenSSL's names; asking again does not help. */
const UNTRUSTED =
  /^(?:CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT|ERR_SSL|ERR_OSSL|EPROTO|HOSTNAME_MISMATCH)/u;

/** What a failed attempt to send, or to read the body, means. `reading` says that an answer had begun. */
export function networkProblem(error: unknown, timing: Timing, reading: boolean): Problem {
  const codes = codesOf(error);
  const problem = (failure: Problem['failure'], words: string, extra: Partial<Problem> = {}): Problem => ({
    failure,
    words,
    again: 'yes',
    unsent: false,
    ...extra,
  });
  if (codes.includes('UND_ERR_CONNECT_TIMEOUT'))
    return problem('timeout', `no connection within ${seconds(timing.connectMs)}`);
  if (codes.includes('ECONNREFUSED')) return problem('unreachable', 'connection refused', { unsent: true });
  const untrusted = codes.find((code) => UNTRUSTED.test(code));
  if (untrusted) {
    return problem('unreachable', `the TLS connection failed: ${untrusted}`, {
      again: 'no',
      hint: 'set `caFile` (and `clientCert`, `clientKey`) of this target to what the service uses',
    });
  }
  const refusal = refusalOfProxy(error);
  if (refusal !== undefined) {
    return problem('unreachable', `the proxy answered ${refusal}`, {
      again: refusal < 500 ? 'no' : 'yes',
      unsent: true,
      hint: 'check HTTPS_PROXY, its user and password, and whether this host belongs into NO_PROXY',
    });
  }
  if (codes.includes('UND_ERR_HEADERS_OVERFLOW')) {
    return problem('too-large', 'the headers of the answer are larger than allowed', {
      again: 'no',
      hint: 'check `url` of this target: no service is known to send such headers',
    });
  }
  const code = codes[0];
  if (reading) return problem('truncated', `the answer broke off${code ? ` (${code})` : ''}`);
  return problem('unreachable', code ? `no connection (${code})` : 'no connection');
}

/** The status by which a proxy refused a tunnel: undici says it in words alone. */
function refusalOfProxy(error: unknown): number | undefined {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    const status = /^Proxy response \((\d{3})\)/u.exec(inner.message)?.[1];
    if (status !== undefined) return Number(status);
  }
  return undefined;
}

/** Codes of an error and its causes, outermost first; words of the errors may repeat what was sent, so they are not used. */
function codesOf(error: unknown): string[] {
  const codes: string[] = [];
  for (let inner = error; inner instanceof Error && codes.length < 8; inner = inner.cause) {
    if ('code' in inner && typeof inner.code === 'string') codes.push(inner.code);
  }
  return codes;
}
