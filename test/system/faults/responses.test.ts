import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HttpTimeouts } from '../../../src/core/context.ts';
import type { Fault } from './fault-proxy.ts';
import * as faults from './faults.ts';
import {
  type FaultOptions,
  type FaultyProject,
  faultyProject,
  KINDS,
  type PulledState,
  type PullKind,
} from './faulty-project.ts';
import * as rows from './row-faults.ts';

let place: FaultyProject;
beforeAll(async () => {
  place = await faultyProject((end) => afterAll(end));
}, 120_000);

/** The error in `pulls` by kind, or of all kinds. */
type Says = RegExp | Partial<Record<PullKind, RegExp>>;

interface Case {
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
const silent = { headersMs: 700, idleMs: 700, responseMs: 1500, downloadMs: 1500 };
const small = { maxResponseBytes: 4 * 1024 * 1024, maxDownloadBytes: 4 * 1024 * 1024 };

const CASES: Readonly<Record<string, Case>> = {
  'connections are reset': { fault: faults.reset, says: /unreachable: no connection \(ECONNRESET\)/u },
  'answers never begin': { fault: faults.hang, says: /timeout: no response within 0\.7 s/u, timeouts: silent },
  'answers drip': { fault: faults.drip, says: /timeout: not finished within 1\.5 s/u, timeouts: silent },
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
        /ca_roots: 1 row without root_id: the rejected files are in landing\/\S+\/single, under names that end in \.rejected/u,
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

function expectFailed({ run, pulls, tables }: PulledState, kinds: readonly PullKind[], says: Says): void {
  for (const kind of kinds) {
    const pattern = says instanceof RegExp ? says : says[kind]!;
    expect(pulls[kind], kind).toMatchObject({ status: 'failed', error: expect.stringMatching(pattern) });
    expect(run.stderr).toMatch(new RegExp(`warning: ${kind}: \\w+: failed: `, 'u'));
  }
  expect(pulls.healthy.status).toBe('complete');
  expect(tables, 'every table is as it was').toEqual(place.good.tables);
}

describe.each(Object.entries(CASES))('when %s', (_, { fault, says, final = [], timeouts = {}, paths = {} }) => {
  const kinds = typeof fault === 'function' ? ALL : ALL.filter((kind) => fault[kind]);
  const options = { timeouts: { attempts: 2, ...timeouts }, paths };

  test('always, the sources fail with the reason and leave their tables unchanged; the exit code is 1', async () => {
    const state = await place.pull(fault, options);
    expect(state.run.exit).toBe(1);
    expectFailed(state, kinds, says);
    for (const kind of ALL.filter((other) => !kinds.includes(other))) expect(state.pulls[kind].status).toBe('complete');
  });

  test('once, they are retried if that can help', async () => {
    const state = await place.pull(fault, { ...options, times: 1 });
    const failed = final.filter((kind) => kinds.includes(kind) && state.pulls[kind].status !== 'complete');
    expectFailed(state, failed, says);
    for (const kind of ALL.filter((other) => !failed.includes(other))) {
      expect(state.pulls[kind], `${kind}: ${state.run.stderr}`).toMatchObject({ status: 'complete', error: null });
    }
    expect(state.run.exit).toBe(failed.length > 0 ? 1 : 0);
  });
});

describe('a redirect to another origin', () => {
  test('is not followed, and the token does not go there', async () => {
    const elsewhere = place.proxies.single;
    const state = await place.pull(
      {
        list: faults.redirect(`${elsewhere.url}/steal`),
        token: faults.redirect(`${elsewhere.url}/steal`),
        csv: faults.redirect(`${elsewhere.url}/steal`),
        pages: faults.redirect(`${elsewhere.url}/steal`),
      },
      { timeouts: { attempts: 2 } },
    );
    expectFailed(
      state,
      ['csv', 'pages', 'list', 'token'],
      /302 malformed: redirect to http:\/\/127\.0\.0\.1:\d+: the token is not sent to another origin/u,
    );
    expect(elsewhere.heads.filter((head) => head.includes('/steal'))).toEqual([]);
  });
});

describe('a burst of status 503', () => {
  test('is retried after a wait, and counted', async () => {
    const state = await place.pull(faults.unavailable, { times: 2, timeouts: { attempts: 4 } });
    expect(state.run.exit, state.run.stderr).toBe(0);
    expect(state.tables).toEqual(place.good.tables);
    expect(state.pulls.single).toMatchObject({ status: 'complete', requests: 3, retries: 2 });
  });

  test('of status 429 is counted as throttled', async () => {
    const state = await place.pull(faults.throttled, { times: 2, timeouts: { attempts: 4 } });
    expect(state.run.exit, state.run.stderr).toBe(0);
    expect(state.pulls.single).toMatchObject({ requests: 3, retries: 2, throttled: 2 });
  });
});

describe('an invalid CSV', () => {
  const onlyExport = { paths: { csv: /export/u }, timeouts: { attempts: 2 } };

  test.each([
    ['lacks its last row', rows.rowMissing.csv!, /got 229 rows, but the service reports 230/u],
    ['has a row without its key', rows.withoutKey.csv!, /1 row without external_id: line 17 of workspaces\.csv/u],
    ['ends between two lines', faults.cutBetweenLines, /got \d+ rows, but the service reports 230/u],
    ...[2, 5, 8].map((tenth): [string, Fault, RegExp] => [
      `ends after ${tenth} tenths`,
      faults.quietlyCutFrom(tenth),
      /line \d+ of the CSV is invalid|rows, but the service reports 230/u,
    ]),
  ])('that %s is requested again, then as JSON pages; the file is kept', async (_, fault, says) => {
    const { run, pulls, tables } = await place.pull({ csv: fault }, onlyExport);
    expect(run.exit, run.stderr).toBe(0);
    expect(
      run.stderr.match(new RegExp(`csv: workspaces: workspaces: .*${says.source}.*; retrying`, 'gu')),
    ).toHaveLength(2);
    expect(pulls.csv).toMatchObject({ status: 'complete', retries: 2 });
    expect(tables).toEqual(place.good.tables);
    expect(await place.landed('csv')).toContain('workspaces.csv.rejected');
  });
});
