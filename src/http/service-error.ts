import { TidemarkError } from '../core/errors.ts';

/** What went wrong at the other side, in the terms a caller decides by. */
export type Failure =
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

export interface ServiceErrorDetails {
  readonly failure: Failure;
  readonly status?: number | undefined;
  /** The service's own words, redacted and on one line; empty when it said nothing. */
  readonly words: string;
  readonly operation: string;
  readonly target: string;
  readonly hint?: string | undefined;
}

/** Failures where nothing answered at all, unless there is a status. */
const SILENT: readonly Failure[] = ['unreachable', 'timeout', 'aborted'];

const HINTS: Partial<Record<Failure, string>> = {
  unauthorized: 'check the token of this target: it is missing, wrong or expired',
  forbidden: 'the token lacks the permission; `tidemark api OPERATION --help` names it',
  'wrong-mount': 'check `mounts` of this target: nothing answers at that path',
  sealed: 'the server is sealed or in maintenance: unseal it, or try later',
  'rate-limited': 'lower `limits.requestsPerSecond` or `limits.share` of this target, or try later',
  'too-long-wait': 'try later, or raise `maxWait`',
  unreachable: 'check `url` of this target, the network and the proxy settings',
  truncated: 'the transfer broke off; try again',
  malformed: 'check `url` of this target: a proxy or a login page may answer in its place',
  'too-large': 'ask for less at once (filters, page size)',
  'in-use': 'detach or remove what uses it first',
};

/** A refusal or silence of a service. The message is one line: operation, target, status, the service's words. */
export class ServiceError extends TidemarkError {
  readonly failure: Failure;
  readonly status: number | undefined;
  readonly words: string;
  readonly operation: string;
  readonly target: string;

  constructor({ failure, status, words, operation, target, hint }: ServiceErrorDetails) {
    const what = status === undefined ? failure : `${status} ${failure}`;
    const advice = hint ?? HINTS[failure];
    super(
      status === undefined && SILENT.includes(failure) ? 'UNREACHABLE' : 'REFUSED',
      `${operation} at ${target}: ${what}${words === '' ? '' : `: ${words}`}`,
      advice === undefined ? {} : { hint: advice },
    );
    this.name = 'ServiceError';
    this.failure = failure;
    this.status = status;
    this.words = words;
    this.operation = operation;
    this.target = target;
  }
}
