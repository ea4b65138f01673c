import { expect } from 'vitest';
import type { HttpTimeouts } from '../../../src/core/context.ts';
import type { Fault } from './fault-proxy.ts';
import * as faults from './faults.ts';
import { type FaultOptions, type FaultyProject, KINDS, type PulledState, type PullKind } from './faulty-project.ts';
import * as rows from './row-faults.ts';

/** The error in `pulls` by kind, or of all kinds. */
export type Says = RegExp | Partial<Record<PullKind, RegExp>>;

export interface ResponseFault {
  readonly name: string;
  readonly fault: Fault | Partial<Record<PullKind, Fault>>;
  readonly says: Says;
  /** Kinds that fail after a single fault, since a retry would not help. */
  readonly final?: readonly PullKind[];
  readonly timeouts?: Partial<HttpTimeouts>;
  readonly paths?: FaultOptions['paths'];
}

const ALL = [...KINDS];
const broken = /truncated: the response was cut off/u;
const malformed = /malformed: expected a JSON/u;
/** Long enough for a healthy answer on a machine under foreign load: one that never comes is waited for as long. */
const PATIENCE_MS = 5000;
const silent = { headersMs: PATIENCE_MS };
const slow = { responseMs: PATIENCE_MS, downloadMs: PATIENCE_MS };
const small = { maxResponseBytes: 4 * 1024 * 1024, maxDownloadBytes: 4 * 1024 * 1024 };

const FAULTS: Readonly<Record<string, Omit<ResponseFault, 'name'>>> = {
  'connections are reset': { fault: faults.reset, says: /unreachable: no connection \(ECONNRESET\)/u },
  'answers never begin': {
    fault: faults.hang,
    says: /(?:timeout|unreachable): no response within 5\.0 s/u,
    timeouts: silent,
  },
  'answers drip': { fault: faults.drip, says: /timeout: not finished within 5\.0 s/u, timeouts: slow },
  'connections are reset within answers': { fault: faults.resetWithin, says: broken },
  'answers end after each tenth in turn': { fault: faults.cutFrom(0), says: broken, timeouts: { attempts: 10 } },
  // A malformed response is retried twice at most: four runs cover all tenths.
  ...Object.fromEntries(
    [0, 3, 6, 9].map((tenth) => [
      `answers of no stated length end after ${tenth} tenths and the next`,
      { fault: faults.quietlyCutFrom(tenth), says: malformed, timeouts: { attempts: 3 } },
    ]),
  ),
  'more is promised than comes': { fault: faults.tooMuchPromised, says: broken },
  'less is promised than comes': { fault: faults.tooLittlePromised, says: malformed },
  'garbage comes': { fault: faults.garbage, says: /malformed: expected .*, got something else/u },
  'another protocol answers': { fault: faults.noHttp, says: /malformed: the response is not valid HTTP/u },
  'another JSON object comes': {
    fault: faults.wrongType,
    says: {
      single: /a list in `Roots`/u,
      list: malformed,
      token: malformed,
      pages: malformed,
      csv: malformed,
    },
  },
  'JSON of another type comes': { fault: faults.wrongScalar, says: malformed },
  'a login page comes with status 200': { fault: faults.html, says: /got an HTML page titled "Sign in"/u },
  'an empty body comes': { fault: faults.empty, says: /got an empty body/u },
  'status 204 comes': { fault: faults.nothing, says: /204 malformed: .*got an empty body/u },
  'a body does not unpack': { fault: faults.brokenGzip, says: /malformed|truncated/u },
  'a body nests without end': { fault: faults.deep, says: malformed },
  'a small body unpacks to a huge one': {
    fault: faults.bomb,
    says: /too-large: larger than 4194304 bytes/u,
    final: ['list', 'token', 'single'],
    timeouts: small,
  },
  'status 401 comes': { fault: faults.unauthorized, says: /401 unauthorized: no: check the token/u, final: ALL },
  'status 500 comes': {
    fault: faults.failing,
    says: /500 server: Internal Server Error/u,
    final: ['token', 'single'], // what Nomad and Consul say with 500 is their last word (live-services.md F)
  },
  'status 503 comes': { fault: faults.unavailable, says: /503 (?:server|sealed)/u },
  'status 429 comes without a header': { fault: faults.throttled, says: /429 rate-limited/u },
  'Retry-After is 0': { fault: faults.retryAfter('0'), says: /429 rate-limited/u },
  'Retry-After is a part of a second': { fault: faults.retryAfter('0.2'), says: /429 rate-limited/u },
  'Retry-After is a date': {
    fault: faults.retryAfter(() => new Date(Date.now() + 1000).toUTCString()),
    says: /429 rate-limited/u,
  },
  'Retry-After is a word': { fault: faults.retryAfter('soon'), says: /429 rate-limited/u },
  'Retry-After is a day': {
    fault: faults.retryAfter('86400'),
    says: /429 too-long-wait: asked to wait 86400 s: try later, or raise `maxWait`/u,
    final: ALL,
  },
  'redirects go round in circles': {
    fault: faults.redirectInCircles,
    says: /302 malformed: redirect to \//u,
    final: ['list'],
  },
  'a row has no key': {
    fault: rows.withoutKey,
    says: {
      csv: /platform\.explorer\.query: row 5 has no id/u,
      pages: /row 5 has no id/u,
      list: /secrets\.keys\.list: row 1 has no key/u,
      token: /acl_policies: row 1 has no Name/u,
      single:
        /ca_roots: row 2 has no ID: the rejected files are in landing\/\S+\/single, under names that end in \.rejected/u,
    },
  },
  'a row is missing': {
    fault: rows.rowMissing,
    says: /got \d+ rows, but the service reports 230|\d+ rows received, 230 reported/u,
  },
  'the total moves with every page': {
    fault: rows.totalMoves,
    says: /the total changed from \d+ to \d+ between pages, 3 times in a row/u,
    paths: { csv: /explorer\?|export/u },
  },
  'a page or its token comes again and again': {
    fault: rows.repeats,
    says: /the service sends the same \S+ again: the list would never end/u,
  },
  'the token is refused in the middle': { fault: rows.refusedLater, says: /401 unauthorized/u, final: ALL },
};

export const RESPONSE_FAULTS: readonly ResponseFault[] = Object.entries(FAULTS).map(([name, each]) => ({
  name,
  ...each,
}));

/** A fault of its own for each kind. */
export type FaultByKind = ReadonlyMap<PullKind, ResponseFault>;

export function getFault({ fault }: ResponseFault, kind: PullKind): Fault | undefined {
  return typeof fault === 'function' ? fault : fault[kind];
}

/** Breaks every response with rows: the sources fail with the reason, and leave their tables unchanged; the exit code is 1. */
export async function expectFailures(place: FaultyProject, byKind: FaultByKind): Promise<void> {
  const state = await pullWith(place, byKind);
  expect(state.run.exit).toBe(1);
  for (const [kind, { says }] of byKind) expectFailed(place, state, [kind], says);
  expectComplete(
    state,
    KINDS.filter((kind) => !byKind.has(kind)),
  );
}

/** Breaks one response of each kind: the sources retry if that can help. */
export async function expectRetries(place: FaultyProject, byKind: FaultByKind): Promise<void> {
  const state = await pullWith(place, byKind, 1);
  const failed = KINDS.filter(
    (kind) => byKind.get(kind)?.final?.includes(kind) && state.pulls[kind].status !== 'complete',
  );
  for (const kind of failed) expectFailed(place, state, [kind], byKind.get(kind)!.says);
  expectComplete(
    state,
    KINDS.filter((kind) => !failed.includes(kind)),
  );
  expect(state.run.exit).toBe(failed.length > 0 ? 1 : 0);
}

/** The timeouts of all of them are those of the first one. */
function pullWith(place: FaultyProject, byKind: FaultByKind, times?: number): Promise<PulledState> {
  const [{ timeouts }] = [...byKind.values()] as [ResponseFault];
  return place.pull(Object.fromEntries([...byKind].map(([kind, each]) => [kind, getFault(each, kind)])), {
    timeouts: { attempts: 2, ...timeouts },
    paths: Object.fromEntries([...byKind].map(([kind, { paths }]) => [kind, paths?.[kind]])),
    ...(times !== undefined && { times }),
  });
}

export function expectFailed(
  { good }: FaultyProject,
  { run, pulls, tables }: PulledState,
  kinds: readonly PullKind[],
  says: Says,
): void {
  for (const kind of kinds) {
    const pattern = says instanceof RegExp ? says : says[kind]!;
    expect(pulls[kind], kind).toMatchObject({ status: 'failed', error: expect.stringMatching(pattern) });
    expect(run.stderr).toMatch(new RegExp(`warning: ${kind}: \\w+: failed: `, 'u'));
  }
  expect(pulls.healthy.status).toBe('complete');
  expect(tables, 'every table is as it was').toEqual(good.tables);
}

function expectComplete({ run, pulls }: PulledState, kinds: readonly PullKind[]): void {
  for (const kind of kinds) {
    expect(pulls[kind], `${kind}: ${run.stderr}`).toMatchObject({ status: 'complete', error: null });
  }
}
