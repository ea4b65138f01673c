import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { acquireLock } from '../../src/warehouse/lock.ts';
import { playbookHarness } from '../helpers/playbook-harness.ts';

/** A project whose job applies a playbook, and waits for a lock as long as `minutes`. */
async function createPlace(minutes: number) {
  const place = await playbookHarness({ playbook: 'scope-unused-pools' });
  const playbooks = [{ name: 'scope-unused-pools', mode: 'apply', approvedBy: 'platform team' }];
  await mkdir(join(place.folder, 'jobs'), { recursive: true });
  await writeFile(join(place.folder, 'jobs', 'nightly.yaml'), stringify({ pull: ['agent_pools'], playbooks }));
  await place.configure((config) => Object.assign(config, { schedule: { lockWaitMinutes: minutes } }));
  return place;
}

const LOCKS = ['lock', 'apply.lock'];

test.each(LOCKS)('a run that meets %s, held by an apply, waits for it, says so, and does its work', async (name) => {
  const place = await createPlace(30);
  const lock = await acquireLock(join(place.folder, 'data', name), 'plan p-manual');
  const lines: string[] = [];
  const run = place.tidemark(['run', 'nightly', '--json'], {
    onStderr: (text) => {
      lines.push(text);
      if (text.includes('waiting')) void lock.release();
    },
  });
  const { exit, json } = await run;
  expect(exit, lines.join('')).toBe(0);
  expect(lines.join('')).toMatch(/waiting for at most 30 min: the warehouse is locked by plan p-manual \(process \d+/u);
  expect(json<{ playbooks: { applied: { rows: object[] } }[] }>().playbooks[0]?.applied.rows).toHaveLength(2);
});

test('a lock that one playbook of a job has waited for in vain is not waited for again by the others', async () => {
  const place = await createPlace(0.01);
  const job = { name: 'scope-unused-pools', mode: 'apply', approvedBy: 'platform team' };
  const playbooks = [job, { ...job, name: 'pin-drift-view' }, { ...job, name: 'retire-old-key-versions' }];
  await writeFile(join(place.folder, 'jobs', 'nightly.yaml'), stringify({ pull: ['agent_pools'], playbooks }));
  const lock = await acquireLock(join(place.folder, 'data', 'apply.lock'), 'plan p-manual');
  const { exit, stderr, json } = await place.tidemark(['run', 'nightly', '--json']);
  await lock.release();
  expect(exit, stderr).toBe(1);
  const refused = json<{ playbooks: { refused: string | null }[] }>().playbooks.map((one) => one.refused);
  expect(refused).toEqual(Array(3).fill(expect.stringContaining('locked by plan p-manual')));
  expect(stderr.match(/waiting for at most/gu)).toHaveLength(1);
});

test('a run that meets a lock for longer than `lockWaitMinutes` exits with 6 and names the holder', async () => {
  const place = await createPlace(0);
  const lock = await acquireLock(join(place.folder, 'data', 'lock'), 'plan p-manual');
  const { exit, stderr } = await place.tidemark(['run', 'nightly']);
  expect([exit, stderr]).toEqual([6, expect.stringContaining('locked by plan p-manual')]);
  await lock.release();
});
