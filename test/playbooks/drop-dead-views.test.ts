import { expect, test } from 'vitest';
import type { Response } from '../../sandbox/types.ts';
import { listWrites, playbookHarness } from '../helpers/playbook-harness.ts';

interface Row {
  readonly status: string;
  readonly reason: string | null;
}

/** Responses to a read of the results that say nothing about the query, and what the ledger says of each. */
const FAILURES: readonly (readonly [reason: string, response: Response])[] = [
  ['answers "not found"', { status: 404, body: '{"errors": [{"status": "404", "title": "not found"}]}' }],
  ['server', { status: 500, body: '{"errors": [{"status": "500", "title": "internal error"}]}' }],
  ['server', { status: 503, body: 'unavailable' }],
  ['server', { status: 504, body: 'upstream timed out' }],
  ['timeout', { status: 408, body: 'request time-out' }],
  // The rest of the body never comes.
  ['timeout', { status: 200, headers: { 'content-length': '1000', connection: 'keep-alive' }, body: ['{"data":'] }],
  // A gateway before the service rejects the request.
  ['451 invalid', { status: 451, body: 'blocked by policy' }],
  ['400 malformed', { status: 400, body: 'Bad Request' }],
];

test('drop-dead-views deletes a view only if the service rejects its query', async () => {
  let failure: Response | undefined;
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'drop-dead-views',
    faultHook: ({ path }) => (path.endsWith('/results') ? failure : undefined),
  });
  const { actions } = await place.plan(['--max-percent', '100']);
  expect(actions.map(({ guard }) => guard.inputs.reason)).toEqual(['failed']);
  await place.approve();
  const { views } = place.sandbox.services.platform.state;
  const view = views.find(({ id }) => id === actions[0]?.params.view_id)!;
  const apply = async () => {
    const timeouts = { backoffMs: 1, maxBackoffMs: 2, attempts: 2, idleMs: 1000 };
    const { exit, json } = await place.tidemark(['playbook', 'apply', place.planFile, '--json'], { timeouts });
    return [exit, ...json<{ rows: Row[] }>().rows.map(({ status, reason }) => `${status}: ${reason}`)];
  };

  for (const [reason, response] of FAILURES) {
    failure = response;
    expect(await apply(), JSON.stringify(response)).toEqual([1, expect.stringContaining(reason)]);
    expect(listWrites(place.sandbox.log)).toEqual([]);
  }
  failure = { status: 200, headers: { 'content-type': 'application/json' }, body: '{"data":[]}' };
  expect(await apply()).toEqual([0, 'skipped: its query works again']);
  expect(views).toContain(view);
});

/** Answers without rows on the first page that say otherwise. */
const CONTRADICTIONS = [
  { meta: { pagination: { 'total-count': '5', 'next-page': null } } },
  { meta: { pagination: { 'next-page': 2 } } },
  { links: { next: 'http://127.0.0.1/?page[number]=2' } },
];

test('drop-dead-views leaves a view whose first page has no rows, where the service reports more', async () => {
  let body: string | undefined;
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'drop-dead-views',
    runs: 2,
    configure: (config) => {
      config.thresholds = { deadViewDays: 1 };
    },
    faultHook: ({ path }) => (path.endsWith('/results') && body !== undefined ? { status: 200, body } : undefined),
  });
  const { actions } = await place.plan(['--max-percent', '100', '--subject', 'Decommissioned']);
  expect(actions.map(({ guard }) => guard.inputs.reason)).toEqual(['empty']);
  await place.approve();
  for (const contradiction of CONTRADICTIONS) {
    body = JSON.stringify({ data: [], ...contradiction });
    const { rows } = (await place.apply([], 1)).json<{ rows: Row[] }>();
    expect(rows).toMatchObject([{ status: 'failed', reason: expect.stringContaining('its query returned no result') }]);
  }
  expect(listWrites(place.sandbox.log)).toEqual([]);
});
