import { extractErrorMessage, listErrors, looksLikeHtml } from '../http/error-message.ts';
import { type FailureKind, HINTS, type HttpFailure, type ServiceError } from '../http/errors.ts';
import { parseRetryAfter } from '../http/rate-limit-headers.ts';
import type { Operation } from './operation.ts';
import { NO_RIGHTS } from './permission.ts';

/** HTTP has no status from 600 on (RFC 9110 §15). */
const FIRST_INVALID_STATUS = 600;

/** What a service refuses, rejects or lacks, it does not answer with a page for people: something in front of it does. */
const NO_PAGE_STATUSES = [400, 401, 403, 404, 410, 422];

/**
 * Classifies a response without success: the section "Errors" of docs/services/*.md has the rules of each service. `permission` is
 * that of the request (`describePermission`).
 */
export function classifyError(operation: Operation, response: Response, text: string, permission: string): HttpFailure {
  const { status, headers } = response;
  if (status >= FIRST_INVALID_STATUS)
    return { failure: 'malformed', status, message: `${status} is not a status of HTTP` };
  const answer = parseAnswer(status, text);
  const { message, errors } = answer;
  const failure = isForeign(operation, answer) ? 'malformed' : classifyFailure(operation, answer);
  const isForeignAbsence = failure === 'not-found' && operation.kind === 'platform' && !errors;
  return {
    failure,
    status,
    message,
    ...(isForeignAbsence ? { hint: HINTS.malformed } : explain(operation, permission, failure, answer)),
    retryable: isTransient(operation, answer) ? 'yes' : 'no',
    notProcessed: status === 429,
    isForeign: !isOwnForm(operation, answer),
    retryAfterMs: status === 429 || status === 503 ? parseRetryAfter(headers, Date.now()) : undefined,
  };
}

type Answer = Readonly<ReturnType<typeof parseAnswer>>;

function parseAnswer(status: number, text: string) {
  const isJson = /^\s*[{[]/u.test(text);
  return { status, message: extractErrorMessage(text), errors: listErrors(text), isPage: looksLikeHtml(text), isJson };
}

/**
 * An empty LIST returns 404 and `{"errors":[]}`: docs/services/secrets.md#listing. Another 404, such as one without a body, may be of
 * anything in front of the service.
 */
export function isEmptyList({ method }: Operation, status: number, text: string): boolean {
  return method === 'LIST' && status === 404 && listErrors(text)?.length === 0;
}

/**
 * What a registry does not have, and a platform rejects, they say with `{"errors":[…]}`. Another answer may be of anything in front of them:
 * docs/services/registry.md#errors, docs/services/platform.md#errors.
 */
const STATUSES_WITH_ERRORS: Partial<Record<Operation['kind'], readonly number[]>> = {
  registry: [404, 410],
  platform: [400, 422],
};

/** Whether a response is certainly not of the service. */
function isForeign({ kind }: Operation, { status, errors = [], isPage }: Answer): boolean {
  const mayBePage = status === 404 && kind === 'platform'; // one without the explorer
  if (isPage && NO_PAGE_STATUSES.includes(status) && !mayBePage) return true;
  return STATUSES_WITH_ERRORS[kind]?.includes(status) === true && errors.length === 0;
}

/** Whether an error has the form of the service's own: docs/services/*.md#errors. */
function isOwnForm({ kind }: Operation, { status, message, errors, isPage, isJson }: Answer): boolean {
  if (['platform', 'secrets', 'registry'].includes(kind)) return errors !== undefined;
  const isText = message !== '' && !isPage && !isJson;
  return isText && (status !== 403 || /permission denied|\bACL\b/iu.test(message));
}

/** OpenBao says it of every path in a namespace that it does not have. */
const NO_NAMESPACE = /namespace not found/iu;

/** Whether the server does not have the namespace of the target: what is not found there may be elsewhere. */
export function lacksNamespace({ failure, serviceMessage }: ServiceError): boolean {
  return failure === 'wrong-mount' && NO_NAMESPACE.test(serviceMessage);
}

/** A 404 with errors means a wrong mount if the path has no name, or if they say so. */
function isWrongMount({ kind, path }: Operation, { message, errors = [] }: Answer): boolean {
  if (kind !== 'secrets' || errors.length === 0) return false;
  return !path.includes('{') || /no handler for route|unsupported path/iu.test(message) || NO_NAMESPACE.test(message);
}

/** Statuses of rejected requests. Nomad returns 500 for most of them: docs/services/scheduler.md#errors. */
const REJECTED_STATUSES = [400, 409, 422, 500];

const FAILURES: Readonly<Record<number, FailureKind>> = {
  401: 'unauthorized',
  403: 'forbidden',
  408: 'timeout',
  409: 'conflict',
  410: 'not-found',
  412: 'precondition',
  413: 'too-large',
  423: 'conflict',
  429: 'rate-limited',
};

/** Of Vault: docs/services/secrets.md#errors. */
const SEALED_STATUSES = [472, 473, 474, 501, 503];
/** A standby that knows no active node answers 500. */
const NO_ACTIVE_NODE = /local node not active/iu;

/**
 * Nomad answers 500 to the question who an expired token is, and before 1.10.1 404 to who an unknown one is. It may answer 500 to a token
 * that is no UUID: since 1.10 it takes that for the signed token of a workload. A storage plugin says only `token expired`, of that of a
 * next page.
 */
const UNKNOWN_TOKEN =
  /ACL token (?:not found|expired|is invalid)|token lookup failed: index error|failed to parse signed token|invalid signature: go-jose/iu;

function classifyFailure(operation: Operation, answer: Answer): FailureKind {
  const { kind } = operation;
  const { status, message, isPage } = answer;
  if (REJECTED_STATUSES.includes(status) && /\bin use\b/iu.test(message)) return 'in-use';
  if (status === 403 && /(?:ACL|token) (?:not found|expired)/iu.test(message)) return 'unauthorized';
  if (kind === 'scheduler' && UNKNOWN_TOKEN.test(message)) return 'unauthorized';
  if (status === 404) return isWrongMount(operation, answer) ? 'wrong-mount' : 'not-found';
  const isSealed = SEALED_STATUSES.includes(status) || (status === 500 && NO_ACTIVE_NODE.test(message));
  if (kind === 'secrets' && isSealed && !isPage) return 'sealed'; // a page is of a gateway, whose service may be well
  if (status === 503 && /rate limit/iu.test(message)) return 'rate-limited';
  if (status === 500 && kind === 'scheduler' && /not found|no such (?!host|file)/iu.test(message)) return 'not-found';
  return FAILURES[status] ?? (status >= 500 ? 'server' : 'invalid');
}

const TRANSIENT_STATUSES = [408, 425, 429];
/** From this status on, something between the service and here may have failed: a gateway, or a network in front of it (520 to 530). */
const FIRST_GATEWAY_STATUS = 502;
/** Messages of an agent that does not reach its servers, and of servers that elect a leader. */
const LEADERLESS =
  /No cluster leader|leader not found|not ready to serve consistent reads|no (?:known consul )?servers$|rpc error.*: EOF$|failed to get conn/iu;
/** Messages of a transient 500. These services also return 500 for rejected requests; at the others every 500 is transient. */
const TRANSIENT_500: Partial<Record<Operation['kind'], RegExp>> = {
  scheduler: LEADERLESS,
  mesh: new RegExp(`${LEADERLESS.source}|rate limit`, 'iu'),
  autoscaler: /no metric intervals/iu,
};

function isTransient({ kind }: Operation, { status, message }: Answer): boolean {
  if (TRANSIENT_STATUSES.includes(status) || status >= FIRST_GATEWAY_STATUS) return true;
  // A standby of the secrets service returns 412 until it has the state that the token belongs to.
  if (status === 412) return kind === 'secrets';
  if (status !== 500) return false;
  return TRANSIENT_500[kind]?.test(message) ?? true;
}

const GATEWAY = 'what is in front of the service answered: check that';

/** Nomad has the storage provider delete the volume before it looks for claims: docs/services/scheduler.md#volumes. */
const DELETES_BEFORE_IT_REFUSES = 'scheduler.volumes.delete';

/** A hint; where a permission of the token may be missing, that as well. */
function explain(
  { name, kind, path, body }: Operation,
  permission: string,
  failure: FailureKind,
  { status, message, isPage }: Answer,
): Pick<HttpFailure, 'hint' | 'lacks'> {
  const lack = `the token lacks the permission "${permission}"`;
  if (failure === 'not-found' && kind === 'platform' && permission !== NO_RIGHTS.text) {
    const otherwise = 'the organization, name or id in the path is wrong';
    return { hint: `${otherwise}, or ${lack}`, lacks: { permission, otherwise } };
  }
  if (failure === 'forbidden' && permission === NO_RIGHTS.text)
    return { hint: 'the operation needs no permission: the token is not valid, or a proxy refuses the request' };
  if (failure === 'forbidden')
    return { hint: `${lack}${kind === 'secrets' ? ', or is not valid' : ''}`, lacks: { permission } };
  if (kind === 'secrets' && /DR secondary/iu.test(message))
    return { hint: 'a secondary of disaster recovery answers nothing: set `url` of this target to its primary' };
  if (kind === 'secrets' && /namespace has been locked/iu.test(message))
    return { hint: 'ask who administers the namespace to unlock it: `vault namespace unlock`' };
  if (failure === 'wrong-mount' && NO_NAMESPACE.test(message))
    return { hint: 'check `namespace` of this target: the server does not have it' };
  if (/ACL support disabled/iu.test(message)) return { hint: 'ACLs are disabled at this service' };
  if (failure === 'not-found' && status === 404 && !path.includes('{'))
    return { hint: 'check `url` of this target: it does not have this path' };
  if (failure === 'not-found') return { hint: 'check the name or id: it does not exist' };
  if (failure === 'in-use' && name === DELETES_BEFORE_IT_REFUSES)
    return { hint: 'the storage provider may have deleted it, with its data: see `scheduler.external-volumes.list`' };
  if (failure === 'precondition' && name === 'platform.agents.delete')
    return { hint: 'an agent can be deleted only while its status is unknown, errored or exited' };
  if (failure === 'invalid' && status === 422 && body)
    return { hint: `see \`tidemark api ${name} --help\` for the body` };
  // Of a service that is down, a gateway says so with 502 or 503.
  if (failure === 'server' && (status === 500 || status === 504) && name.startsWith('platform.explorer.'))
    return { hint: 'request less: add filters or reduce the page size' };
  if (status === 413) return { hint: 'let what is in front of the service accept larger requests' };
  if (failure === 'server' && isPage && status >= FIRST_GATEWAY_STATUS)
    return { hint: status === 503 ? `${GATEWAY}, or lower \`limits.requestsPerSecond\` of this target` : GATEWAY };
  return {};
}

/** What a service refuses, it has not done. What a gateway refuses, the service behind it may have done. */
const REFUSALS: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'unauthorized',
  'forbidden',
  'not-found',
  'wrong-mount',
  'conflict',
  'precondition',
  'in-use',
  'invalid',
  'rate-limited',
  'too-long-wait',
]);

/** Whether a change that failed may have been made all the same. A time-out or an error within the service leaves it open. */
export function mayBeDone({ failure: kind, details }: ServiceError): boolean {
  const isRefusal = REFUSALS.has(kind) && !(kind === 'in-use' && details.operation === DELETES_BEFORE_IT_REFUSES);
  return details.notProcessed !== true && (details.isForeign === true || !isRefusal);
}
