import { formatSeconds } from '../core/clock.ts';
import type { HttpTimeouts } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { systemLack } from '../core/fs.ts';
import { listAt, textAt, valueAt } from '../core/json-path.ts';
import { shortenText, stripControls } from '../core/log.ts';
import { tryParseJson } from './json.ts';

/** What went wrong at a service, in the terms a caller decides by. */
export type FailureKind =
  | 'unauthorized'
  | 'forbidden'
  | 'not-found'
  | 'wrong-mount'
  | 'conflict'
  | 'precondition'
  | 'in-use'
  | 'sealed'
  | 'invalid'
  | 'rate-limited'
  | 'too-long-wait'
  | 'server'
  | 'unreachable'
  | 'timeout'
  | 'truncated'
  | 'malformed'
  | 'too-large'
  | 'aborted';

/** Why one attempt failed, and whether another makes sense. */
export interface HttpFailure {
  readonly failure: FailureKind;
  readonly status?: number | undefined;
  readonly message: string;
  readonly hint?: string | undefined;
  /** The permission that the token may lack, which the hint names, and what else may be wrong. */
  readonly lacks?: { readonly permission: string; readonly otherwise?: string } | undefined;
  /** `yes`: it may pass; `few`: a response of the wrong form, worth two more attempts. @default `no`: it would fail the same way */
  readonly retryable?: 'yes' | 'few' | 'no';
  /** The service certainly did nothing: throttled, or never connected. @default false */
  readonly notProcessed?: boolean;
  /** The answer has not the form of the service's errors: something in front of it may have sent it. */
  readonly isForeign?: boolean;
  /** The port at which the host of the service answered that nothing listens there. A proxy says nothing of that host. */
  readonly refusedPort?: number | undefined;
  /** The pause that the service asks for. */
  readonly retryAfterMs?: number | undefined;
}

/** Ends an attempt. */
export class AttemptError extends Error {
  readonly problem: HttpFailure;

  constructor(problem: HttpFailure) {
    super(problem.message);
    this.problem = problem;
  }
}

/** No connection to a proxy, or through it. */
export class ProxyError extends Error {}

/** For `catch`: an attempt that failed. @throws every other error */
export function catchAttempt(error: unknown): AttemptError {
  if (error instanceof AttemptError) return error;
  throw error;
}

export interface ServiceErrorDetails
  extends Pick<HttpFailure, 'failure' | 'status' | 'hint' | 'lacks' | 'notProcessed' | 'isForeign' | 'refusedPort'> {
  /** The error message of the service, redacted and on one line; empty when there is none. */
  readonly serviceMessage: string;
  readonly operation: string;
  readonly target: string;
  /** The host that did not respond, or the path that was answered. */
  readonly url?: string | undefined;
}

/** Failures where nothing responded at all, unless there is a status. */
const NO_RESPONSE: readonly FailureKind[] = ['unreachable', 'timeout', 'aborted'];

export const HINTS: Partial<Record<FailureKind, string>> = {
  unauthorized: 'check the token of this target: it is missing, wrong or expired',
  forbidden: 'the token lacks the permission; `tidemark api OPERATION --help` names it',
  'wrong-mount': 'check `mounts` and `namespace` of this target: nothing responds at that path',
  sealed: 'the server is sealed or in maintenance: unseal it, or try later',
  'rate-limited': 'lower `limits.requestsPerSecond` or `limits.share` of this target, or try later',
  'too-long-wait': 'try later, or raise `maxWait`',
  unreachable: 'check `url` of this target, the network and the proxy settings',
  truncated: 'the response was cut off; try again',
  malformed: 'check `url` of this target: a proxy or a login page may respond in its place',
  'too-large': 'request less: add filters or reduce the page size',
  'in-use': 'detach or remove what uses it first',
};

/** Why a call failed, apart from what was asked for: calls with the same reason failed alike. */
export interface FailureParts {
  readonly reason: string;
  /** One that the token may lack. */
  readonly permission: string | null;
  /** The path that was answered, where the status says everything. */
  readonly path: string | null;
}

/** A failed call of a service. The message is one line: operation, target, status, the message of the service. */
export class ServiceError extends TidemarkError {
  readonly failure: FailureKind;
  readonly status: number | undefined;
  readonly serviceMessage: string;
  readonly details: ServiceErrorDetails;
  readonly parts: FailureParts;

  constructor(details: ServiceErrorDetails) {
    const { failure: kind, status, serviceMessage, operation, target, hint = HINTS[kind] } = details;
    const what = status === undefined ? kind : `${status} ${kind}`;
    const code = status === undefined && NO_RESPONSE.includes(kind) ? 'UNREACHABLE' : 'REFUSED';
    super(code, `${operation} at ${target}: ${what}${describeAnswer(details)}`, { hint });
    this.name = 'ServiceError';
    this.failure = kind;
    this.status = status;
    this.serviceMessage = serviceMessage;
    this.details = details;
    const path = status !== undefined && saysNothing(details) ? (details.url ?? null) : null;
    const answer = path === null ? describeAnswer(details) : '';
    const advice = details.lacks ? details.lacks.otherwise : hint;
    this.parts = { reason: `${what}${answer}${prefixed(advice)}`, permission: details.lacks?.permission ?? null, path };
  }
}

/** For `catch`: a failure that is expected. @throws every other error */
export function catchFailure(isExpected: (error: ServiceError) => boolean) {
  return (error: unknown): ServiceError => {
    if (error instanceof ServiceError && isExpected(error)) return error;
    throw error;
  };
}

/** What the service said, with the host that did not respond; or the path, where it said nothing. */
function describeAnswer(details: ServiceErrorDetails): string {
  const { status, failure: kind, serviceMessage, url } = details;
  if (status === undefined && NO_RESPONSE.includes(kind)) return [serviceMessage, url].map(prefixed).join('');
  return prefixed(saysNothing(details) ? url : serviceMessage);
}

/** Whether the service said no more than the status does. */
function saysNothing({ failure: kind, serviceMessage }: ServiceErrorDetails): boolean {
  return serviceMessage === '' || serviceMessage.toLowerCase().replaceAll(/[^a-z]+/gu, '-') === kind;
}

function prefixed(text = ''): string {
  return text === '' ? '' : `: ${text}`;
}

/** Statuses with which a service rejects what a request says. Others from 402 to 451 may come from a gateway before it. */
const REJECTED_STATUSES: readonly (number | undefined)[] = [400, 422];

/** Whether the service rejects what the request says, such as the query of a saved view: then the same request always fails. */
export function isRejection({ failure: kind, status, details }: ServiceError): boolean {
  return kind === 'invalid' && REJECTED_STATUSES.includes(status) && details.isForeign !== true;
}

const MAX_MESSAGE_LENGTH = 400;

/**
 * The error message in a response body, on one line: of JSON:API errors (objects or plain strings), `{"errors": […]}`, plain
 * text, or the title of an HTML page; empty when there is none. Not redacted. The forms are listed under `errors` in
 * docs/services/.
 */
export function extractErrorMessage(text: string): string {
  const trimmed = text.trim();
  const message = looksLikeHtml(trimmed) ? describeHtml(trimmed) : (jsonErrorMessage(trimmed) ?? trimmed);
  return shortenText(stripControls(message.replaceAll(/\s+/gu, ' ')).trim(), MAX_MESSAGE_LENGTH).toWellFormed();
}

export function looksLikeHtml(text: string): boolean {
  return /^\uFEFF?\s*<(?:!doctype|html|head|body|\?xml|!--|script|title)/iu.test(text.slice(0, 400));
}

function describeHtml(html: string): string {
  const title = /<title[^<>]*>([^<]{0,200})<\/title>/iu.exec(html)?.[1]?.trim();
  return title ? `an HTML page titled "${title}"` : 'an HTML page';
}

function jsonErrorMessage(text: string): string | undefined {
  if (!text.startsWith('{') && !text.startsWith('[') && !text.startsWith('"')) return undefined;
  const value = tryParseJson(text);
  if (value === undefined || typeof value === 'string') return value;
  const errors = valueAt(value, 'errors');
  if (Array.isArray(errors)) return errors.map(formatJsonApiError).filter(Boolean).join('; ');
  if (errors) return typeof errors === 'string' ? errors : JSON.stringify(errors);
  return [textAt(value, 'error'), textAt(value, 'message')].filter((part) => part !== null).join(': ');
}

/** The errors that a response in JSON lists; undefined where it has no list of them. */
export function listErrors(text: string): readonly unknown[] | undefined {
  return listAt(tryParseJson(text), 'errors');
}

function formatJsonApiError(error: unknown): string {
  if (typeof error === 'string') return error;
  const pointer = textAt(error, 'source', 'pointer');
  const parts = [textAt(error, 'title'), textAt(error, 'detail')].filter((part) => part !== null);
  return `${parts.join(': ')}${pointer === null ? '' : ` (${pointer})`}`;
}

/** OpenSSL's names of certificates that do not verify and of failed handshakes. Another attempt does not help. */
const UNTRUSTED =
  /^(?:CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT|ERR_SSL|ERR_OSSL|EPROTO|HOSTNAME_MISMATCH)/u;

/**
 * Whether an error comes from the network. Fetch throws `TypeError` for all of these, with the error of undici or of the system
 * as its cause; a body that does not decompress fails with zlib's own. Anything else, such as a full disk, is not the
 * service's.
 */
function isNetworkError(error: unknown): boolean {
  if (error instanceof TypeError) return error.cause !== undefined || error.message === 'terminated';
  return error instanceof Error && 'code' in error && /^(?:UND_ERR_|Z_)/u.test(String(error.code));
}

/**
 * What an error of an attempt means. `hasResponse` says that the response headers had arrived.
 * @throws the error, where it is not about the service
 */
export function classifyAttempt(error: unknown, timeouts: HttpTimeouts, hasResponse: boolean): HttpFailure {
  const causes = listCauses(error);
  const own = causes.find((cause) => cause instanceof AttemptError);
  if (own) return own.problem;
  if (!isNetworkError(error)) throw error;
  // The messages of these errors are not shown: they may repeat what was sent.
  const codes = causes.flatMap((cause) => ('code' in cause && typeof cause.code === 'string' ? cause.code : []));
  // undici loads its parser as it connects, for which V8 may have no address space.
  const lack = causes.some((cause) => cause instanceof RangeError) ? systemLack(error) : undefined;
  if (lack !== undefined) return problem('unreachable', lack, { retryable: 'no', hint: 'nothing was sent' });
  if (codes.includes('UND_ERR_CONNECT_TIMEOUT')) {
    return problem('timeout', `no connection within ${formatSeconds(timeouts.connectMs)}`, { notProcessed: true });
  }
  if (codes.includes('ECONNREFUSED'))
    return problem('unreachable', 'connection refused (ECONNREFUSED)', {
      notProcessed: true,
      refusedPort: causes.some((cause) => cause instanceof ProxyError) ? undefined : readPort(causes),
    });
  const untrusted = codes.find((code) => UNTRUSTED.test(code));
  if (untrusted) {
    return problem('unreachable', `the TLS connection failed: ${untrusted}`, {
      retryable: 'no',
      hint: 'set `caFile` (and `clientCert`, `clientKey`) of this target to what the service uses',
    });
  }
  const proxyStatus = causes.map(readProxyStatus).find((status) => status !== undefined);
  if (proxyStatus !== undefined) {
    return problem('unreachable', `the proxy answered ${proxyStatus}`, {
      retryable: proxyStatus < 500 ? 'no' : 'yes',
      // A tunnel that is refused has carried nothing. Who else answered 407 has received the request.
      notProcessed: causes.some(({ message }) => message.startsWith('Proxy response')),
      hint: 'check HTTPS_PROXY or HTTP_PROXY, its user and password, whether it permits CONNECT to this port, and whether this host belongs in NO_PROXY',
    });
  }
  if (codes.includes('UND_ERR_HEADERS_OVERFLOW')) {
    return problem('too-large', 'the response headers are larger than allowed', {
      retryable: 'no',
      hint: 'check `url` of this target: no service is known to send such headers',
    });
  }
  if (causes.some(isInvalidHttp) || (!hasResponse && codes.includes('UND_ERR_RES_CONTENT_LENGTH_MISMATCH'))) {
    return problem('malformed', 'the response is not valid HTTP', {
      retryable: 'few',
      hint: 'check `url` of this target: something else than the service may respond there',
    });
  }
  const code = codes[0];
  if (hasResponse) return problem('truncated', `the response was cut off${code ? ` (${code})` : ''}`);
  const notProcessed = code === 'ENOTFOUND' || code === 'EAI_AGAIN'; // the host has no address
  return problem('unreachable', code ? `no connection (${code})` : 'no connection', { notProcessed });
}

function readPort(causes: readonly Error[]): number | undefined {
  return causes.flatMap((cause) => ('port' in cause && typeof cause.port === 'number' ? cause.port : []))[0];
}

function problem(failure: HttpFailure['failure'], message: string, details: Partial<HttpFailure> = {}): HttpFailure {
  return { failure, message, retryable: 'yes', notProcessed: false, ...details };
}

/** undici's parser fails with errors of several kinds; an invalid status is an assertion. */
function isInvalidHttp({ name, message }: Error): boolean {
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
