import { writeFileSync } from 'node:fs';
import { mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Applied, applyHarness } from './apply-harness.ts';

const harness = applyHarness({ updatesTable: false, playbook: 'reap-dead-agents' });

test('it stops after --max-failures, and the next apply tries failed actions last', async () => {
  const plan = await harness.useApprovedPlan();
  const refuse = { status: 412, body: '{"errors": []}' };
  harness.faultHook = ({ method }) => (method === 'DELETE' ? refuse : undefined);
  const first = await harness.apply(['--max-failures', '2'], 1);
  expect(first.rows.map(({ action_id, status }) => [action_id, status])).toEqual([
    ['a1', 'failed'],
    ['a2', 'failed'],
  ]);
  expect(first.stopped?.reason).toBe('2 actions failed or unconfirmed');
  harness.faultHook = ({ method, path }) =>
    method === 'DELETE' && !path.endsWith(String(plan.actions[2]?.params.id)) ? refuse : undefined;
  const second = await harness.apply(['--max-failures', '1'], 1);
  expect(second.rows.map(({ action_id, status }) => [action_id, status])).toEqual([
    ['a1', 'failed'],
    ['a3', 'applied'],
  ]);
});

test('a file STOP stops it before the next action, and removing it lets it continue', async () => {
  await harness.useApprovedPlan();
  const file = join(harness.place.folder, 'data', 'STOP');
  let deleted = 0;
  harness.faultHook = ({ method }) => {
    if (method === 'DELETE' && ++deleted === 1) writeFileSync(file, '');
    return undefined;
  };
  const first = await harness.apply([], 6);
  expect(first.rows.map(({ status }) => status)).toEqual(['applied']);
  expect(first.stopped?.reason).toContain('STOP exists');
  await rm(file);
  const second = await harness.apply();
  expect(second.rows.map(({ status }) => status)).toEqual(['applied', 'applied', 'applied']);
  expect(harness.writes()).toHaveLength(3);
});

test('a file STOP that comes while the service asks for a pause keeps the action from being sent again', async () => {
  await harness.useApprovedPlan();
  const file = join(harness.place.folder, 'data', 'STOP');
  let asked = 0;
  harness.faultHook = ({ method }) => {
    if (method !== 'DELETE' || ++asked > 1) return undefined;
    writeFileSync(file, '');
    return { status: 429, body: '{"errors": []}' };
  };
  const first = await harness.apply([], 6);
  expect(harness.statuses(first)).toEqual([['failed', `it was not sent: ${file} exists: remove it to continue`]]);
  expect(harness.writes()).toHaveLength(1);
  await rm(file);
  expect((await harness.apply()).rows.map(({ status }) => status)).toEqual(['applied', 'applied', 'applied']);
});

test('a file STOP that keeps the last action from being sent stops the apply as any other', async () => {
  const plan = await harness.useApprovedPlan();
  const file = join(harness.place.folder, 'data', 'STOP');
  const isLast = (path: string) => path.endsWith(String(plan.actions.at(-1)?.params.id));
  harness.faultHook = ({ method, path }) => {
    if (method !== 'DELETE' || !isLast(path)) return undefined;
    writeFileSync(file, '');
    return { status: 429, body: '{"errors": []}' };
  };
  const { rows, stopped } = await harness.apply([], 6);
  expect(rows.map(({ status }) => status)).toEqual(['applied', 'applied', 'failed']);
  expect(stopped?.reason).toBe(`${file} exists: remove it to continue`);
});

test('a signal stops it before the next action, and the current one is completed', async () => {
  await harness.useApprovedPlan();
  const { rows } = await harness.applyFirst();
  expect(rows.map(({ status }) => status)).toEqual(['applied']);
  expect(harness.writes()).toHaveLength(1);
});

test.each([
  ['a folder', (file: string) => mkdir(file)],
  ['a link to nowhere', (file: string) => symlink('/nonexistent', file)],
])('%s named STOP stops it as well', async (_, create) => {
  await harness.useApprovedPlan();
  await create(join(harness.place.folder, 'data', 'STOP'));
  expect((await harness.apply([], 6)).stopped?.reason).toContain('STOP exists');
  expect(harness.writes()).toEqual([]);
});

test('a signal ends the readings after an action, which is then unconfirmed, and its reason does not claim all of them', async () => {
  await harness.useApprovedPlan();
  const stop = new AbortController();
  harness.faultHook = ({ method }) => {
    if (method !== 'DELETE') return undefined;
    stop.abort();
    return { status: 204 };
  };
  const words = ['playbook', 'apply', harness.place.planFile, '--json'];
  const { exit, json } = await harness.place.tidemark(words, { signal: stop.signal });
  const [row, ...others] = json<Applied>().rows;
  expect([exit, row?.status, row?.reason, others]).toEqual([
    1,
    'unconfirmed',
    'the service accepted it, and the readings were interrupted',
    [],
  ]);
});
