import type { FailureKind } from '../http/errors.ts';
import { extractErrorMessage } from '../http/message.ts';
import type { HttpFailure } from '../http/outcome.ts';
import { parseRetryAfter } from '../http/rate-limit-headers.ts';
import type { Operation } from './operation.ts';

/** What a status other than 2xx means at each service, and whether asking again helps (live-services.md A to F). */
export function classifyError(operation: Operation, status: number, headers: Headers, text: string): HttpFailure {
  const message = extractErrorMessage(text);
  const failure = classifyFailure(operation, status, message);
  const paused = status === 429 || status === 503;
  return {
    failure,
    status,
    message,
    hint: chooseHint(operation, failure, status, message),
    retryable: isTransient(operation, status, message) ? 'yes' : 'no',
    notProcessed: status === 429,
    retryAfterMs: paused ? parseRetryAfter(headers, Date.now()) : undefined,
  };
}

/** A LIST of nothing answers 404 without a message; with one the mount is wrong (live-services.md B1). */
export function isEmptyList({ method }: Operation, status: number, text: string): boolean {
  return method === 'LIST' && status === 404 && extractErrorMessage(text) === '';
}

/** A 404 with a message means a wrong mount where the path has no name, or where the message says so: `no handler for route …` (live-services.md B1). */
function isWrongMount({ kind, path }: Operation, message: string): boolean {
  if (kind !== 'secrets' || message === '') return false;
  return !path.includes('{') || /no handler for route|unsupported path|an HTML page/iu.test(message);
}

/** Statuses by which services refuse what a caller asks; Nomad's is mostly 500 (live-services.md C1). */
const REJECTED_STATUSES = [400, 409, 422, 500];

function classifyFailure(operation: Operation, status: number, message: string): FailureKind {
  const { kind } = operation;
  if (REJECTED_STATUSES.includes(status) && /\bin use\b/iu.test(message)) return 'in-use';
  if (status === 401 || (status === 403 && /(?:ACL token|ACL|token) not found/iu.test(message))) return 'unauthorized';
  if (status === 403) return 'forbidden';
  if (status === 404) return isWrongMount(operation, message) ? 'wrong-mount' : 'not-found';
  if (status === 408) return 'timeout';
  if (status === 409 || status === 423) return 'conflict';
  if (status === 412) return 'precondition';
  if (status === 413) return 'too-large';
  if (status === 429) return 'rate-limited';
  if (status === 503 && kind === 'secrets') return 'sealed';
  if (status === 503 && /rate limit/iu.test(message)) return 'rate-limited';
  // Nomad answers 500 to most of what a caller gets wrong (live-services.md C1).
  if (status === 500 && kind === 'scheduler' && /not found|no such/iu.test(message)) return 'not-found';
  return status >= 500 ? 'server' : 'invalid';
}

const TRANSIENT_STATUSES = [408, 429, 502, 503, 504];
/** Words under which a 500 passes; elsewhere it is the service's way to refuse. */
const TRANSIENT_500: Partial<Record<Operation['kind'], RegExp>> = {
  scheduler: /No cluster leader/iu,
  mesh: /No cluster leader|rate limit/iu,
  autoscaler: /no metric intervals/iu,
};

function isTransient({ kind }: Operation, status: number, message: string): boolean {
  if (TRANSIENT_STATUSES.includes(status)) return true;
  // 412 of secrets: a standby that has not yet seen the state the token belongs to.
  if (status === 412) return kind === 'secrets';
  if (status !== 500) return false;
  return TRANSIENT_500[kind]?.test(message) ?? true;
}

function chooseHint(
  { kind, name, permission }: Operation,
  failure: FailureKind,
  status: number,
  message: string,
): string | undefined {
  if (failure === 'not-found' && kind === 'platform') {
    return `the name or id is wrong, or the token may not see it: it needs "${permission}"`;
  }
  if (failure === 'not-found') return 'check the name or id: nothing has it';
  if (failure === 'precondition' && name === 'platform.agents.delete') {
    return 'an agent can be deleted only while its status is unknown, errored or exited';
  }
  if (failure === 'forbidden')
    return `the token lacks the permission "${permission}"${kind === 'secrets' ? ', or is not valid' : ''}`;
  if (failure === 'invalid' && /ACL support disabled/iu.test(message)) return 'ACLs are switched off at this service';
  if (failure === 'invalid' && status === 422) return `see \`tidemark api ${name} --help\` for the body`;
  if (failure === 'server' && name.startsWith('platform.explorer.'))
    return 'ask for less: fewer filters, or a part of the rows';
  return undefined;
}
