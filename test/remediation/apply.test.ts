import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listWrites, playbookHarness } from '../helpers/playbook-harness.ts';
import { type Applied, applyHarness, showAgent } from './apply-harness.ts';

/** Of the configuration of a test project. */
const LAG_MS = 200;

const harness = applyHarness({ updatesTable: false, playbook: 'reap-dead-agents' });

test('a plan of no actions is applied, and nothing is sent', async () => {
  const { actions } = await harness.place.plan(['--target', 'vault']);
  await harness.place.approve();
  expect([actions, await harness.apply()]).toMatchObject([[], { rows: [], stopped: null }]);
  expect(harness.place.sandbox.log).toEqual([]);
});

test('a subject that drifted since the plan is skipped with the reason, one that is gone needs no change', async () => {
  const plan = await harness.useApprovedPlan();
  harness.findAgent(plan, 0).lastPingAt = harness.place.sandbox.now.getTime();
  removeAgent(harness.findAgent(plan, 2).id);
  const applied = await harness.apply();
  expect(harness.statuses(applied)).toEqual([
    ['skipped', expect.stringMatching(/^it pinged at /u)],
    ['applied', null],
    ['skipped', 'no change needed: the agent is gone'],
  ]);
  expect(harness.writes()).toHaveLength(1);
  expect(harness.statuses(await harness.apply())).toEqual(harness.statuses(applied));
});

test('readings that contradict half of the plan stop it as a fault of the service, and nothing is recorded', async () => {
  const plan = await harness.useApprovedPlan();
  const changed = [harness.findAgent(plan, 0), harness.findAgent(plan, 2)];
  const states = changed.map(({ status }) => status);
  for (const agent of changed) agent.status = 'idle';
  const applied = await harness.apply([], 1);
  expect(applied.stopped).toEqual({
    reason:
      'readings contradict 2 of 3 actions, as a fault of the service would: check the service, then apply the plan again or make a new one',
    exit: 1,
  });
  expect(applied.rows.map(({ action_id, status }) => [action_id, status])).toEqual([['a2', 'applied']]);
  for (const [index, agent] of changed.entries()) agent.status = states[index]!;
  const again = await harness.apply();
  expect(again.rows.map(({ status }) => status)).toEqual(['applied', 'applied', 'applied']);
});

test.each([
  [4, null],
  [5, expect.objectContaining({ reason: expect.stringContaining('readings contradict 5 of 10 actions') })],
])('of ten actions %i that readings contradict: stopped is %o', async (count, stopped) => {
  const place = await playbookHarness({ updatesTable: false, playbook: 'drop-stale-snapshots' });
  const { actions } = await place.plan();
  await place.approve();
  const old = actions.filter(({ guard }) => guard.inputs.reason === 'old').slice(0, count);
  expect([actions.length, old.length]).toEqual([10, count]);
  for (const { params } of old) {
    const { snapshots } = place.sandbox.services.scheduler.state.plugins.get(String(params.plugin_id))!;
    const id = String(params.snapshot_id);
    snapshots.set(id, { ...snapshots.get(id)!, createdAt: place.sandbox.now });
  }
  const applied = await place.apply([], stopped === null ? 0 : 1);
  expect(applied.json<Applied>().stopped).toEqual(stopped);
});

test('an apply that stops early records no reading that contradicts the plan', async () => {
  const plan = await harness.useApprovedPlan();
  const changed = harness.findAgent(plan, 0);
  const { status } = changed;
  changed.status = 'idle';
  harness.faultHook = ({ method }) => (method === 'DELETE' ? { status: 412, body: '{"errors": []}' } : undefined);
  const first = await harness.apply(['--max-failures', '1'], 1);
  expect(first.rows.map(({ action_id, status: outcome }) => [action_id, outcome])).toEqual([['a2', 'failed']]);
  harness.faultHook = undefined;
  changed.status = status;
  const second = await harness.apply();
  expect(second.rows.map(({ status: outcome }) => outcome)).toEqual(['applied', 'applied', 'applied']);
});

test('a refused write fails with the message of the service, and is tried again by the next apply', async () => {
  const plan = await harness.useApprovedPlan();
  const body = JSON.stringify({ errors: [{ status: '412', title: 'cannot delete' }] });
  harness.faultHook = ({ method, path }) =>
    method === 'DELETE' && path.endsWith(String(plan.actions[0]?.params.id)) ? { status: 412, body } : undefined;
  const applied = await harness.apply([], 1);
  expect(harness.statuses(applied)).toEqual([
    ['failed', expect.stringContaining('412 precondition: cannot delete')],
    ['applied', null],
    ['applied', null],
  ]);
  harness.faultHook = undefined;
  expect(harness.statuses(await harness.apply())).toEqual([
    ['applied', null],
    ['applied', null],
    ['applied', null],
  ]);
  expect(harness.writes()).toHaveLength(4);
});

test('a lost response is resolved by readings over the lag that agree', async () => {
  const plan = await harness.useApprovedPlan();
  const lost = { done: String(plan.actions[0]?.params.id), undone: String(plan.actions[1]?.params.id) };
  harness.faultHook = ({ method, path }) => {
    if (method !== 'DELETE') return undefined;
    if (path.endsWith(lost.done)) removeAgent(lost.done);
    return path.endsWith(lost.done) || path.endsWith(lost.undone) ? { status: 502, body: 'bad gateway' } : undefined;
  };
  const applied = await harness.apply([], 1);
  expect(harness.statuses(applied)).toEqual([
    ['applied', expect.stringContaining('readings show that it was applied: the agent is gone')],
    ['failed', expect.stringContaining('readings over 0.2 s agree that it was not applied')],
    ['applied', null],
  ]);
  expect(harness.writes()).toHaveLength(3);
});

test('a lost response is not settled before the lag is over: a service that shows the change late has applied it', async () => {
  const plan = await harness.useApprovedPlan();
  const agent = structuredClone(harness.findAgent(plan, 0));
  let shownFromMs = Number.POSITIVE_INFINITY;
  harness.faultHook = ({ method, path }) => {
    if (!path.endsWith(agent.id)) return undefined;
    if (method === 'GET')
      return performance.now() < shownFromMs && shownFromMs < Infinity ? showAgent(agent) : undefined;
    removeAgent(agent.id);
    shownFromMs = performance.now() + LAG_MS * 0.7;
    return { status: 502, body: 'bad gateway' };
  };
  const applied = await harness.apply();
  expect(harness.statuses(applied)[0]).toEqual([
    'applied',
    expect.stringContaining('readings show that it was applied'),
  ]);
});

test('a deletion that is answered with errors is not taken for one that the service accepted', async () => {
  await harness.useApprovedPlan();
  harness.faultHook = ({ method }) =>
    method === 'DELETE' ? { status: 200, body: '{"errors": [{"title": "not now"}]}' } : undefined;
  const [first] = harness.statuses(await harness.apply(['--max-failures', '1'], 1));
  expect(first).toEqual(['failed', expect.stringMatching(/not now.* agree that it was not applied$/u)]);
});

test('a subject whose readings hang is not read after the lag is over', async () => {
  await harness.useApprovedPlan();
  let isHung = false;
  harness.faultHook = ({ method }) => {
    if (isHung)
      return { status: 200, headers: { 'content-length': '1000', connection: 'keep-alive' }, body: ['{"data":'] };
    isHung = method === 'DELETE';
    return isHung ? { status: 504, body: '' } : undefined;
  };
  const words = ['playbook', 'apply', harness.place.planFile, '--json', '--max-failures', '1'];
  const timeouts = { backoffMs: 1, maxBackoffMs: 2, attempts: 2, idleMs: 1000 };
  const { exit, json } = await harness.place.tidemark(words, { timeouts });
  expect([exit, harness.statuses(json<Applied>())]).toEqual([
    1,
    [['unconfirmed', expect.stringContaining('no data for')]],
  ]);
  const { log } = harness.place.sandbox;
  expect(log.slice(log.findIndex(({ method }) => method === 'DELETE') + 1).map(({ method }) => method)).toEqual([
    'GET',
    'GET',
  ]);
});

test('an action after an unclear answer stays ours, also if the next apply cannot read its subject', async () => {
  const plan = await harness.useApprovedPlan();
  const id = String(plan.actions[0]?.params.id);
  const answerOnce = (method: string, status: number) => {
    harness.faultHook = (asked) =>
      asked.method === method && asked.path.endsWith(id) ? { status, body: '{"errors": []}' } : undefined;
  };
  answerOnce('DELETE', 504);
  expect(harness.statuses(await harness.apply([], 1))[0]?.[0]).toBe('failed');
  answerOnce('GET', 401);
  expect(harness.statuses(await harness.apply([], 1))[0]?.[1]).toContain('the subject could not be read');
  answerOnce('DELETE', 412);
  expect(harness.statuses(await harness.apply([], 1))[0]?.[1]).toContain('412 precondition');
  harness.faultHook = undefined;
  removeAgent(id);
  expect(harness.statuses(await harness.apply())[0]).toEqual(['applied', 'confirmed late: the agent is gone']);
});

test('an action after an unclear answer stays ours, also if it takes effect just before it is sent again', async () => {
  const plan = await harness.useApprovedPlan();
  const id = String(plan.actions[0]?.params.id);
  const answer = (respond: () => { status: number; body: string }) => {
    harness.faultHook = ({ method, path }) => (method === 'DELETE' && path.endsWith(id) ? respond() : undefined);
  };
  answer(() => ({ status: 504, body: '' }));
  expect(harness.statuses(await harness.apply([], 1))[0]?.[0]).toBe('failed');
  answer(() => {
    removeAgent(id);
    return { status: 404, body: '{"errors": [{"status": "404"}]}' };
  });
  expect(harness.statuses(await harness.apply())[0]).toEqual(['applied', 'confirmed late: the agent is gone']);
});

test('an action that a kill interrupted stays ours, if it takes effect just before it is sent again', async () => {
  const plan = await harness.interruptFirst();
  const id = String(plan.actions[0]?.params.id);
  harness.faultHook = ({ method, path }) => {
    if (method !== 'DELETE' || !path.endsWith(id)) return undefined;
    removeAgent(id);
    return { status: 404, body: '{"errors": [{"status": "404"}]}' };
  };
  expect(harness.statuses(await harness.apply())[0]).toEqual(['applied', 'confirmed late: the agent is gone']);
});

test('an action that a read shows with a delay is applied, and sent once', async () => {
  const plan = await harness.useApprovedPlan();
  const agent = structuredClone(harness.findAgent(plan, 0));
  let readings = 0;
  harness.faultHook = ({ method, path }) =>
    path.endsWith(agent.id) && method === 'GET' && readings++ === 1 ? showAgent(agent) : undefined;
  const applied = await harness.apply();
  expect(harness.statuses(applied)[0]).toEqual(['applied', null]);
  expect([readings, harness.writes().length]).toEqual([3, 3]);
});

test('an action that the service accepted and a read does not show is unconfirmed', async () => {
  const plan = await harness.useApprovedPlan();
  harness.faultHook = ({ method, path }) =>
    method === 'DELETE' && path.endsWith(String(plan.actions[0]?.params.id)) ? { status: 204 } : undefined;
  const applied = await harness.apply([], 1);
  const reason = 'the service accepted it, and readings over 0.2 s do not show it';
  expect(harness.statuses(applied)[0]).toEqual(['unconfirmed', reason]);
  harness.faultHook = undefined;
  await harness.apply([], 1);
  expect(harness.writes(), 'never repeated').toHaveLength(3);
  removeAgent(String(plan.actions[0]?.params.id));
  expect(harness.statuses(await harness.apply())[0]).toEqual([
    'applied',
    'confirmed late: readings show that it was applied: the agent is gone',
  ]);
  expect(harness.writes()).toHaveLength(3);
});

test('an apply that is stopped at once tells what an earlier one left unconfirmed from what was never tried', async () => {
  const plan = await harness.useApprovedPlan();
  harness.faultHook = ({ method, path }) =>
    method === 'DELETE' && path.endsWith(String(plan.actions[0]?.params.id)) ? { status: 204 } : undefined;
  await harness.apply(['--max-failures', '1'], 1);
  const { folder, planFile, tidemark } = harness.place;
  await writeFile(join(folder, 'data', 'STOP'), '');
  const { stdout } = await tidemark(['playbook', 'apply', planFile]);
  await rm(join(folder, 'data', 'STOP'));
  expect(stdout).toContain('1 still unconfirmed, 2 not reached; stopped: ');
});

test('an action whose subject cannot be read is not sent', async () => {
  await harness.useApprovedPlan();
  harness.faultHook = ({ method }) =>
    method === 'GET' ? { status: 401, body: '{"errors": ["unauthorized"]}' } : undefined;
  const applied = await harness.apply(['--max-failures', '9'], 1);
  expect(harness.statuses(applied).map(([status]) => status)).toEqual(['failed', 'failed', 'failed']);
  expect(harness.statuses(applied)[0]?.[1]).toContain('the subject could not be read');
  expect(harness.writes()).toEqual([]);
});

test('an action is not sent on what a cache has kept for longer than the lag', async () => {
  const plan = await harness.useApprovedPlan();
  const agent = structuredClone(harness.findAgent(plan, 0));
  harness.faultHook = ({ method, path }) =>
    method === 'GET' && path.endsWith(agent.id) ? { ...showAgent(agent), headers: { Age: '1' } } : undefined;
  const applied = await harness.apply([], 1);
  expect(harness.statuses(applied)[0]).toEqual(['failed', expect.stringContaining('the answer is stale')]);
  expect(harness.writes()).toHaveLength(2);
});

test.each([
  ['is as it was', 'applied', null, 3],
  ['has changed', 'failed', expect.stringContaining('asked to wait'), 2],
])(
  'a subject that was read before a long wait for the rate limit is read again, and %s',
  async (what, status, reason, writes) => {
    const plan = await harness.useApprovedPlan();
    const agent = harness.findAgent(plan, 0);
    let readings = 0;
    harness.faultHook = ({ method, path }) => {
      if (method !== 'GET' || !path.endsWith(agent.id) || ++readings > 1) return undefined;
      const answer = showAgent(agent);
      if (what === 'has changed') agent.status = 'busy';
      const headers = { 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1.0' };
      return { ...answer, headers };
    };
    const applied = await harness.apply([], status === 'applied' ? 0 : 1);
    expect(harness.statuses(applied)[0]).toEqual([status, reason]);
    expect([readings > 1, harness.writes().length]).toEqual([true, writes]);
  },
);

test.each(['reap-dead-agents', 'rotate-old-keys'])(
  '%s: what waits for its turn longer than the lag, whenever it is read, is sent once all the same',
  async (playbook) => {
    const place = await playbookHarness({ playbook, updatesTable: false });
    await place.plan(['--max-percent', '100', '--limit', '1']);
    await place.approve();
    await place.configure(({ targets }) => {
      for (const target of targets) Object.assign(target, { lag: 0, limits: { requestsPerSecond: 4 } });
    });
    place.sandbox.log.length = 0;
    expect((await place.apply()).json<Applied>().rows.map(({ status }) => status)).toEqual(['applied']);
    expect(listWrites(place.sandbox.log)).toHaveLength(1);
  },
);

test('a rotation that a gateway sends twice says which version the key has', async () => {
  const place = await playbookHarness({
    playbook: 'rotate-old-keys',
    updatesTable: false,
    faultHook: ({ method, path }) => {
      const name = /\/key\/([^/]+)\/rotate$/u.exec(path)?.[1];
      if (method !== 'POST' || name === undefined) return undefined;
      const { versions } = place.sandbox.services.secrets.state.keys.get(name)!;
      versions.push(versions.at(-1)!, versions.at(-1)!);
      return { status: 504, body: '<html></html>' };
    },
  });
  const { actions } = await place.plan(['--max-percent', '100', '--limit', '1']);
  await place.approve();
  const [row] = (await place.apply()).json<Applied>().rows;
  const version = Number(actions[0]?.guard.inputs.latest_version) + 2;
  expect(row).toMatchObject({
    status: 'applied',
    reason: expect.stringMatching(new RegExp(`^secrets\\.keys\\.rotate .* its newest version is ${version}$`, 'u')),
  });
});

test('it completes while a run holds the warehouse; the next run updates the table', async () => {
  await harness.useApprovedPlan();
  const result = await harness.place.apply(); // as every apply of this file
  expect(result.stderr).toContain('the table actions was not updated');
  expect(await harness.place.ledger()).toHaveLength(3);
});

test('it tells what it did where the working file cannot be used', async () => {
  const place = await playbookHarness({ playbook: 'reap-dead-agents' });
  await place.plan(['--max-percent', '100', '--limit', '1']);
  await place.approve();
  const work = join(place.folder, 'data', 'work');
  await rm(work, { recursive: true });
  await writeFile(work, '');
  const result = await place.apply();
  expect(result.json<Applied>().rows.map(({ status }) => status)).toEqual(['applied']);
  expect(result.stderr).toContain('the table actions was not updated: ENOTDIR');
});

function removeAgent(id: string): void {
  const { agents } = harness.place.sandbox.services.platform.state;
  const index = agents.findIndex((agent) => agent.id === id);
  if (index >= 0) agents.splice(index, 1);
}
