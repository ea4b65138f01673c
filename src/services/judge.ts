import type { Problem } from '../http/outcome.ts';
import { demandedWaitMs } from '../http/retry-after.ts';
import type { Failure } from '../http/service-error.ts';
import { wordsOf } from '../http/words.ts';
import type { Operation } from './operation.ts';

/** What a status other than 2xx means at each service, and whether asking again helps (live-services.md A to F). */
export function judge(operation: Operation, status: number, headers: Headers, text: string): Problem {
  const words = wordsOf(text);
  const failure = failureOf(operation, status, words);
  const paused = status === 429 || status === 503;
  return {
    failure,
    status,
    words,
    hint: hintOf(operation, failure, status, words),
    again: isTransient(operation, status, words) ? 'yes' : 'no',
    unsent: status === 429,
    demandedMs: paused ? demandedWaitMs(headers, Date.now()) : undefined,
  };
}

/** A LIST of nothing answers 404 without words; with words the mount is wrong (live-services.md B1). */
export function isEmptyList({ method }: Operation, status: number, text: string): boolean {
  return method === 'LIST' && status === 404 && wordsOf(text) === '';
}

/** A 404 with words means the mount where nothing was named, or where they say so: `no handler for route …` (live-services.md B1). */
function isWrongMount({ kind, path }: Operation, words: string): boolean {
  if (kind !== 'secrets' || words === '') return false;
  return !path.includes('{') || /no handler for route|unsupported path|an HTML page/iu.test(words);
}

/** Statuses by which services refuse what a caller asks; Nomad's is mostly 500 (live-services.md C1). */
const CALLERS_FAULT = [400, 409, 422, 500];

function failureOf(operation: Operation, status: number, words: string): Failure {
  const { kind } = operation;
  if (CALLERS_FAULT.includes(status) && /\bin use\b/iu.test(words)) return 'in-use';
  if (status === 401 || (status === 403 && /(?:ACL token|ACL|token) not found/iu.test(words))) return 'unauthorized';
  if (status === 403) return 'forbidden';
  if (status === 404) return isWrongMount(operation, words) ? 'wrong-mount' : 'not-found';
  if (status === 408) return 'timeout';
  if (status === 409 || status === 423) return 'conflict';
  if (status === 412) return 'precondition';
  if (status === 413) return 'too-large';
  if (status === 429) return 'rate-limited';
  if (status === 503 && kind === 'secrets') return 'sealed';
  if (status === 503 && /rate limit/iu.test(words)) return 'rate-limited';
  // Nomad answers 500 to most of what a caller gets wrong (live-services.md C1).
  if (status === 500 && kind === 'scheduler' && /not found|no such/iu.test(words)) return 'not-found';
  return status >= 500 ? 'server' : 'invalid';
}

const ALWAYS = [408, 429, 502, 503, 504];
/** Words under which a 500 passes; elsewhere it is the service's way to refuse. */
const PASSING_500: Partial<Record<Operation['kind'], RegExp>> = {
  scheduler: /No cluster leader/iu,
  mesh: /No cluster leader|rate limit/iu,
  autoscaler: /no metric intervals/iu,
};

function isTransient({ kind }: Operation, status: number, words: string): boolean {
  if (ALWAYS.includes(status)) return true;
  // 412 of secrets: a standby that has not yet seen the state the token belongs to.
  if (status === 412) return kind === 'secrets';
  if (status !== 500) return false;
  return PASSING_500[kind]?.test(words) ?? true;
}

function hintOf(
  { kind, name, permission }: Operation,
  failure: Failure,
  status: number,
  words: string,
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
  if (failure === 'invalid' && /ACL support disabled/iu.test(words)) return 'ACLs are switched off at this service';
  if (failure === 'invalid' && status === 422) return `see \`tidemark api ${name} --help\` for the body`;
  if (failure === 'server' && name.startsWith('platform.explorer.'))
    return 'ask for less: fewer filters, or a part of the rows';
  return undefined;
}
