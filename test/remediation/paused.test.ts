import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Services } from '../../sandbox/index.ts';
import { openServices } from '../../src/act/remote.ts';
import { loadConfig } from '../../src/config/config.ts';
import { LockError } from '../../src/warehouse/lock.ts';
import { quietContext } from '../helpers/context.ts';
import { listWrites, playbookHarness } from '../helpers/playbook-harness.ts';

test('a pause after the read of what an update would create is before it: nothing is sent', async () => {
  const place = await playbookHarness({ updatesTable: false, playbook: 'retire-old-key-versions' });
  const context = quietContext(place.folder);
  const { actions } = await place.plan(['--max-percent', '100']);
  place.sandbox.log.length = 0;
  const config = loadConfig(join(place.folder, 'tidemark.yaml'), {}, context.redactor);
  const remote = openServices(config, context, context.signal, () => {
    if (place.sandbox.log.length > 0) throw new LockError('INCOMPLETE', 'the process was stopped for 90 s');
  });
  const paused = await remote.execute(actions[0]!).catch((thrown: unknown) => thrown);
  await remote.close();
  expect(paused).toMatchObject({ message: 'it was not sent: the process was stopped for 90 s' });
  expect(paused).not.toBeInstanceOf(LockError);
  expect(place.sandbox.log.map(({ method }) => method)).toEqual(['GET']);
});

test('a request is not sent when the lock was lost or the process paused just before it', async () => {
  const place = await playbookHarness({ updatesTable: false, playbook: 'rotate-old-keys' });
  const context = quietContext(place.folder);
  const { actions } = await place.plan();
  place.sandbox.log.length = 0;
  const config = loadConfig(join(place.folder, 'tidemark.yaml'), {}, context.redactor);
  let error = new LockError('LOCKED', 'plan p1 lost its lock');
  const remote = openServices(config, context, context.signal, () => {
    throw error;
  });
  await expect(remote.execute(actions[0]!)).rejects.toBe(error);
  error = new LockError('INCOMPLETE', 'the process was stopped for 90 s');
  const paused = await remote.execute(actions[0]!).catch((thrown: unknown) => thrown);
  expect(paused).toMatchObject({ message: 'it was not sent: the process was stopped for 90 s' });
  expect(paused).not.toBeInstanceOf(LockError); // the lock is held: the outcome can be recorded
  expect(listWrites(place.sandbox.log)).toEqual([]);
  await remote.close();
});

test.each([
  [
    'remove-empty-pools',
    /agent-pools\/[^/]+\/agents$/u,
    ({ platform }: Services) => {
      for (const pool of platform.state.pools) pool.attached.push('ws-attached');
    },
    0,
    ['skipped', 'it has 1 attached workspace'],
  ],
  [
    'retire-old-key-versions',
    /\/keymgmt\/key\/[^/]+$/u,
    ({ secrets }: Services) => {
      for (const key of secrets.state.keys.values()) Object.assign(key, { deletionAllowed: true });
    },
    1,
    ['failed', expect.stringContaining('secrets.keys.read at vault: rate-limited')],
  ],
])(
  '%s: what changes while the service makes a read wait is read again, and nothing is sent',
  async (playbook, path, change, before, [status, reason]) => {
    let left: number | undefined;
    const place = await playbookHarness({
      updatesTable: false,
      playbook,
      faultHook: (request, service) => {
        const isRead = request.method === 'GET' && path.test(request.path);
        if (!isRead || left === undefined || left-- !== 0) return undefined;
        change(place.sandbox.services);
        return { ...service.error(429, 'slow down'), headers: { 'retry-after': '1' } };
      },
    });
    await place.plan(['--limit', '1', '--max-percent', '100']);
    await place.approve();
    place.sandbox.log.length = 0;
    left = before;
    const { rows } = (await place.apply([], status === 'failed' ? 1 : 0)).json<{ rows: unknown[] }>();
    expect(rows).toMatchObject([{ status, reason }]);
    expect(listWrites(place.sandbox.log)).toEqual([]);
  },
);
