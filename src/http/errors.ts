import { TidemarkError } from '../core/errors.ts';

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
  constructor(readonly problem: HttpFailure) {
    super(problem.message);
  }
}

/** No connection to a proxy, or through it: nothing was sent to the service. */
export class ProxyError extends Error {
  constructor(
    readonly place: 'to the proxy' | 'through the proxy',
    cause: Error,
  ) {
    super('not connected', { cause });
  }
}

/** For `catch`: an attempt that failed. @throws every other error */
export function catchAttempt(error: unknown): AttemptError {
  if (error instanceof AttemptError) return error;
  throw error;
}

interface ServiceErrorDetails
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
  timeout: 'check `url` of this target, the network and the service, or try later',
  truncated: 'try again; if it persists, check what is in front of the service',
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
  readonly parts: FailureParts;

  constructor(readonly details: ServiceErrorDetails) {
    const { failure: kind, status, serviceMessage, operation, target, hint = HINTS[kind] } = details;
    const what = status === undefined ? kind : `${status} ${kind}`;
    const code = status === undefined && NO_RESPONSE.includes(kind) ? 'UNREACHABLE' : 'REFUSED';
    super(code, `${operation} at ${target}: ${what}${describeAnswer(details)}`, { hint });
    this.name = 'ServiceError';
    this.failure = kind;
    this.status = status;
    this.serviceMessage = serviceMessage;
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

/** Whether a service has no such endpoint, as one of another version, or what is in front of it does not know it. */
export function lacksEndpoint({ failure, status = 0 }: ServiceError): boolean {
  return failure === 'not-found' || [404, 405, 410, 501].includes(status);
}

/** Statuses with which a service rejects what a request says. Others from 402 to 451 may come from a gateway before it. */
const REJECTED_STATUSES: readonly (number | undefined)[] = [400, 422];

/** Whether the service rejects what the request says, such as the query of a saved view: then the same request always fails. */
export function isRejection({ failure: kind, status, details }: ServiceError): boolean {
  return kind === 'invalid' && REJECTED_STATUSES.includes(status) && details.isForeign !== true;
}
