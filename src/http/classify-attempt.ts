import { formatSeconds } from '../core/clock.ts';
import type { HttpTimeouts } from '../core/context.ts';
import { systemLack } from '../core/fs.ts';
import { AttemptError, type FailureKind, type HttpFailure, ProxyError } from './errors.ts';
import { CONNECTS_PER_TUNNEL } from './transport.ts';

/** OpenSSL's names of certificates that do not verify and of failed handshakes. Another attempt does not help. */
const UNTRUSTED =
  /^(?:CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT|ERR_SSL|ERR_OSSL|EPROTO|HOSTNAME_MISMATCH)/u;

/** What answered is no TLS: a server of plain HTTP, or the port of another protocol. */
const PLAIN_HTTP = 'ERR_SSL_WRONG_VERSION_NUMBER';

const PROXY_TLS_HINT =
  'check HTTPS_PROXY or HTTP_PROXY, and set NODE_EXTRA_CA_CERTS to the certificate authority of the proxy';
const OLD_TLS = 'it must speak TLS 1.2 or newer';

/** What no certificate authority corrects: of the service whose setting `url` names, and of a proxy. */
const specificTlsHints = (url: string): Readonly<Record<string, readonly [service: string, proxy: string]>> => ({
  [PLAIN_HTTP]: [
    `check the port in ${url}, and write http: where the service has no TLS`,
    'begin the URL in HTTPS_PROXY or HTTP_PROXY with http: where the proxy has no TLS',
  ],
  CERT_HAS_EXPIRED: ['renew the certificate of the service', 'renew the certificate of the proxy'],
  CERT_NOT_YET_VALID: ['check the clock of this machine', 'check the clock of this machine'],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    `write a host that the certificate names in ${url}`,
    'write a host that its certificate names in HTTPS_PROXY or HTTP_PROXY',
  ],
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: [OLD_TLS, OLD_TLS],
  ERR_SSL_UNSUPPORTED_PROTOCOL: [OLD_TLS, OLD_TLS],
});
const UNREACHED = 'check the address of the service, and whether it runs: the proxy does not reach it, or fails itself';
const CHECK_PROXY =
  'check HTTPS_PROXY or HTTP_PROXY, its user and password, whether it permits CONNECT to this port, and whether this host belongs in NO_PROXY';

/** Of one of the ports that fetch refuses (https://fetch.spec.whatwg.org/#port-blocking). */
const RESERVED_PORT: HttpFailure = {
  failure: 'unreachable',
  message: 'no request is sent to this port: browsers reserve it for another protocol',
  hint: 'let the service, or a proxy in front of it, listen at another port',
  notProcessed: true,
};

/** Codes of gzip and deflate, and of Brotli. */
const UNPACKING = /^(?:Z_|ERR__ERROR_)/u;
const CHECK_ENCODING = 'check what is in front of the service: the body is not what its `Content-Encoding` says';

/**
 * Whether an error comes from the network. Fetch throws `TypeError` for all of these, with the error of undici or of the system
 * as its cause; a body that does not decompress fails with zlib's own. Anything else, such as a full disk, is not the
 * service's.
 */
function isNetworkError(error: unknown): boolean {
  if (error instanceof TypeError) return error.cause !== undefined || error.message === 'terminated';
  return error instanceof Error && 'code' in error && /^(?:UND_ERR_|Z_)/u.test(String(error.code));
}

/** What hints call the settings of a connection. */
type SettingNames = Readonly<Record<'url' | 'certificates', string>>;

const OF_TARGET: SettingNames = {
  url: '`url` of this target',
  certificates: '`caFile` (and `clientCert`, `clientKey`) of this target',
};

/**
 * What an error of an attempt means. `hasResponse` says that the response headers had arrived.
 * @throws the error, where it is not about the service
 */
export function classifyAttempt(
  error: unknown,
  timeouts: HttpTimeouts,
  hasResponse: boolean,
  settings = OF_TARGET,
): HttpFailure {
  const { url } = settings;
  const causes = listCauses(error);
  const own = causes.find((cause) => cause instanceof AttemptError);
  if (own) return own.problem;
  if (!isNetworkError(error)) throw error;
  // The messages of these errors are not shown: they may repeat what was sent.
  const codes = causes.flatMap((cause) => ('code' in cause && typeof cause.code === 'string' ? cause.code : []));
  // undici loads its parser as it connects, for which V8 may have no address space.
  const lack = causes.some((cause) => cause instanceof RangeError) ? systemLack(error) : undefined;
  if (lack !== undefined) return problem('unreachable', lack, { retryable: 'no', hint: 'nothing was sent' });
  const proxy = causes.findLast((cause) => cause instanceof ProxyError);
  if (codes.includes('UND_ERR_CONNECT_TIMEOUT')) return noConnectionInTime(timeouts, proxy);
  if (codes.includes('ECONNREFUSED')) return refusedConnection(causes, proxy);
  const untrusted = codes.find((code) => UNTRUSTED.test(code));
  if (untrusted) return untrustedConnection(untrusted, proxy, settings);
  if (causes.some(({ message }) => message === 'bad port')) return RESERVED_PORT;
  const proxyStatus = causes.map(readProxyStatus).find((status) => status !== undefined);
  if (proxyStatus !== undefined) return refusedTunnel(proxyStatus, causes);
  if (codes.includes('UND_ERR_HEADERS_OVERFLOW')) {
    return problem('too-large', 'the response headers are larger than allowed', {
      retryable: 'no',
      hint: `check ${url}: no service is known to send such headers`,
    });
  }
  if (proxy && causes.some(isInvalidHttp))
    return problem('malformed', 'the answer of the proxy is not valid HTTP', { ...unsent(proxy), retryable: 'few' });
  if (causes.some(isInvalidHttp) || (!hasResponse && codes.includes('UND_ERR_RES_CONTENT_LENGTH_MISMATCH'))) {
    return problem('malformed', 'the response is not valid HTTP', {
      retryable: 'few',
      hint: `check ${url}: something else than the service may respond there`,
    });
  }
  if (causes.some(({ message }) => message.startsWith('too many content-encodings')))
    return problem('malformed', 'the response has too many encodings', { retryable: 'few', hint: CHECK_ENCODING });
  const code = codes[0];
  if (proxy) return problem('unreachable', `no connection ${proxy.place}${code ? ` (${code})` : ''}`, unsent(proxy));
  const unpacking = codes.find((one) => UNPACKING.test(one));
  if (unpacking !== undefined)
    return problem('truncated', `the response cannot be decompressed (${unpacking})`, { hint: CHECK_ENCODING });
  if (hasResponse) return problem('truncated', `the response was cut off${code ? ` (${code})` : ''}`);
  const notProcessed = code === 'ENOTFOUND' || code === 'EAI_AGAIN'; // the host has no address
  return problem('unreachable', code ? `no connection (${code})` : 'no connection', { notProcessed });
}

function noConnectionInTime({ connectMs }: HttpTimeouts, proxy: ProxyError | undefined): HttpFailure {
  const waitedMs = proxy?.place === 'through the proxy' ? connectMs * CONNECTS_PER_TUNNEL : connectMs;
  const what = proxy ? `no connection ${proxy.place}` : 'no connection';
  return problem('timeout', `${what} within ${formatSeconds(waitedMs)}`, unsent(proxy));
}

/** A proxy that refuses says nothing of the service. */
function refusedConnection(causes: readonly Error[], proxy: ProxyError | undefined): HttpFailure {
  if (proxy) return problem('unreachable', 'the proxy refused the connection (ECONNREFUSED)', unsent(proxy));
  const [port] = causes.flatMap((cause) => ('port' in cause && typeof cause.port === 'number' ? cause.port : []));
  return problem('unreachable', 'connection refused (ECONNREFUSED)', { ...unsent(), refusedPort: port });
}

function refusedTunnel(status: number, causes: readonly Error[]): HttpFailure {
  return problem('unreachable', `the proxy answered ${status}`, {
    retryable: status < 500 ? 'no' : 'yes',
    // A tunnel that is refused has carried nothing. Who else answered 407 has received the request.
    notProcessed: causes.some(({ message }) => message.startsWith('Proxy response')),
    hint: status < 500 ? CHECK_PROXY : UNREACHED,
  });
}

function unsent(proxy?: ProxyError): Partial<HttpFailure> {
  return { notProcessed: true, ...(proxy && { hint: CHECK_PROXY }) };
}

function untrustedConnection(code: string, proxy: ProxyError | undefined, { url, certificates }: SettingNames) {
  const isProxy = proxy?.place === 'to the proxy';
  const opened = proxy ? ', or to the authority of the proxy, if that opens TLS' : '';
  const general = `set ${certificates} to what the service uses${opened}`;
  const [ofService, ofProxy] = specificTlsHints(url)[code] ?? [general, PROXY_TLS_HINT];
  return problem('unreachable', `the TLS connection${isProxy ? ' to the proxy' : ''} failed: ${code}`, {
    retryable: 'no',
    hint: isProxy ? ofProxy : ofService,
  });
}

function problem(failure: FailureKind, message: string, details: Partial<HttpFailure> = {}): HttpFailure {
  return { failure, message, retryable: 'yes', notProcessed: false, ...details };
}

/** undici's parser fails with errors of several kinds; an invalid status is an assertion. A connection that is not kept may end early. */
function isInvalidHttp({ name, message }: Error): boolean {
  if (message.endsWith('(Invalid EOF state)')) return false;
  return ['HTTPParserError', 'AssertionError'].includes(name) || message === 'bad response';
}

/** The status with which a proxy refused. undici gives that of a tunnel in the message, and no message at all for an answer with 407. */
function readProxyStatus(error: Error): number | undefined {
  const { name, message } = error;
  if (name === 'Error' && message === '' && !('code' in error)) return 407;
  const status = /^Proxy response \((\d{3})\)/u.exec(message)?.[1];
  return status === undefined ? undefined : Number(status);
}

/** An error and its causes, outermost first; of several addresses of a host that were tried, the first. */
function listCauses(error: unknown): readonly Error[] {
  const causes: Error[] = [];
  for (let inner = error; inner instanceof Error && causes.length < 8; ) {
    causes.push(inner);
    inner = inner.cause ?? (inner instanceof AggregateError ? inner.errors[0] : undefined);
  }
  return causes;
}
