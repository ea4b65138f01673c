import { beforeAll, describe, expect, test } from 'vitest';
import { spread } from '../../helpers/spread.ts';
import { cleanAtEnd } from '../../helpers/temp.ts';
import * as faults from './faults.ts';
import { type FaultyProject, faultyProject, KINDS } from './faulty-project.ts';
import {
  expectFailed,
  expectFailures,
  expectRetries,
  getFault,
  RESPONSE_FAULTS,
  type ResponseFault,
} from './response-faults.ts';
import * as rows from './row-faults.ts';

const atEnd = cleanAtEnd();
let place: FaultyProject;
beforeAll(async () => {
  place = await faultyProject(atEnd);
});

/** Each fault with some kind of source, and every kind in each round with another fault; test/long has all combinations. */
const ROUNDS = [...new Set(RESPONSE_FAULTS.map(formatTimeouts))]
  .map((timeouts) => RESPONSE_FAULTS.filter((each) => formatTimeouts(each) === timeouts))
  .flatMap((together) => spread(together, KINDS, (each, kind) => getFault(each, kind) !== undefined))
  .map((byKind) => ({ byKind, title: [...byKind].map(([kind, { name }]) => `${kind}: ${name}`).join('; ') }));

/** The timeouts of a run are those of all its faults. */
function formatTimeouts({ timeouts = {} }: ResponseFault): string {
  return JSON.stringify(timeouts);
}

describe.each(ROUNDS)('when for $title', ({ byKind }) => {
  test('always, the sources fail with the reason and leave their tables unchanged; the exit code is 1', () =>
    expectFailures(place, byKind));

  test('once, they are retried if that can help', () => expectRetries(place, byKind));
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
      place,
      state,
      ['csv', 'pages', 'list', 'token'],
      /302 malformed: redirect to http:\/\/127\.0\.0\.1:\d+: the token is not sent to another origin/u,
    );
    expect(elsewhere.heads.filter((head) => head.includes('/steal'))).toEqual([]);
  });
});

describe('a burst of status 503', () => {
  test('is retried after a wait, and counted', async () => {
    const state = await place.pull(faults.unavailable, { times: 2, timeouts: { attempts: 4 }, targets: ['single'] });
    expect(state.run.exit, state.run.stderr).toBe(0);
    expect(state.tables).toEqual(place.good.tables);
    expect(state.pulls.single).toMatchObject({ status: 'complete', requests: 3, retries: 2 });
  });

  test('of status 429 is counted as throttled', async () => {
    const state = await place.pull(faults.throttled, { times: 2, timeouts: { attempts: 4 }, targets: ['single'] });
    expect(state.run.exit, state.run.stderr).toBe(0);
    expect(state.pulls.single).toMatchObject({ requests: 3, retries: 2, throttled: 2 });
  });
});

describe('an invalid CSV', () => {
  const onlyExport = { paths: { csv: /export/u }, timeouts: { attempts: 2 }, targets: ['csv'] } as const;

  test.each([
    ['lacks its last row', rows.rowMissing.csv!, /got 229 rows, but the service reports 230/u],
    ['has a row without its key', rows.withoutKey.csv!, /1 row without external_id: line 17 of workspaces\.csv\.gz/u],
    ['ends between two lines', faults.cutBetweenLines, /got \d+ rows, but the service reports 230/u],
    [
      'ends in a line',
      faults.quietlyCutFrom(5), // test/long has all tenths
      /line (?:\d+ )?of the CSV is invalid|rows, but the service reports 230/u,
    ],
  ])('that %s is requested again, then as JSON pages; the file is kept', async (_, fault, says) => {
    const { run, pulls, tables } = await place.pull({ csv: fault }, onlyExport);
    expect(run.exit, run.stderr).toBe(0);
    expect(
      run.stderr.match(new RegExp(`csv: workspaces: workspaces: .*${says.source}.*; retrying`, 'gu')),
    ).toHaveLength(2);
    expect(pulls.csv).toMatchObject({ status: 'complete', retries: 2 });
    expect(tables).toEqual(place.good.tables);
    expect(await place.landed('csv')).toContain('workspaces.csv.gz.rejected');
  });
});
