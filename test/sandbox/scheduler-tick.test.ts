import { afterEach, beforeEach, expect, test } from 'vitest';
import { type RunningSandbox, startSandbox } from '../../sandbox/index.ts';
import type { SchedulerContext } from '../../sandbox/scheduler/context.ts';
import type { StoragePlugin, VolumeRecord } from '../../sandbox/scheduler/records.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { collectDays, missingFrom } from './collect-days.ts';
import { ask, read } from './secrets-client.ts';

const hasEnded = (status: string | undefined): boolean =>
  status !== undefined && ['complete', 'failed', 'lost'].includes(status);

const DAY_MS = 86_400_000;
let sandbox: RunningSandbox;
const state = (): SchedulerContext => sandbox.services.scheduler.state;

const volumesWhere = (fits: (volume: VolumeRecord, plugin: StoragePlugin) => boolean): Set<string> =>
  new Set(
    [...state().volumes]
      .filter(([, volume]) => fits(volume, state().plugins.get(volume.pluginId)!))
      .map(([key]) => key),
  );

const listable = (): StoragePlugin[] =>
  [...state().plugins.values()].filter(({ capabilities }) => capabilities.length > 0);
const ageDays = (date: Date): number => (sandbox.now.getTime() - date.getTime()) / DAY_MS;

function unprotected({ externalId, pluginId }: VolumeRecord, plugin: StoragePlugin): boolean {
  const fresh = [...plugin.snapshots.values()].some(
    ({ sourceId, ready, createdAt }) => sourceId === externalId && ready && ageDays(createdAt) <= 7,
  );
  return !fresh && listable().some(({ id }) => id === pluginId);
}

/** What each rule of surface.md that reads this service would find tonight. */
const RULES: Readonly<Record<string, () => Set<string>>> = {
  'volume-unschedulable': () => volumesWhere(({ schedulable }) => !schedulable),
  'lost-volume-claim': () =>
    volumesWhere(
      ({ claims }) =>
        claims.length > 0 &&
        claims.every(({ allocationId }) => hasEnded(state().allocations.get(allocationId)?.clientStatus)),
    ),
  'missing-external-volume': () =>
    volumesWhere(({ externalId, claims }, { externals }) => claims.length === 0 && !externals.has(externalId)),
  'unprotected-volume': () => volumesWhere(unprotected),
  'orphaned-external-volume': () => {
    const registered = new Set([...state().volumes.values()].map(({ externalId }) => externalId));
    return new Set(listable().flatMap(({ externals }) => [...externals.keys()].filter((id) => !registered.has(id))));
  },
  'abnormal-external-volume': () =>
    new Set(
      listable().flatMap(({ externals }) =>
        [...externals.values()].filter(({ abnormal }) => abnormal).map(({ id }) => id),
      ),
    ),
  'stale-snapshot': () =>
    new Set(
      listable().flatMap(({ snapshots, externals }) =>
        [...snapshots.values()]
          .filter(({ createdAt, sourceId }) => ageDays(createdAt) > 90 || !externals.has(sourceId))
          .map(({ id }) => id),
      ),
    ),
  'anonymous-write': () =>
    new Set(/write|submit/.test(state().policies.get('anonymous')?.rules ?? '') ? ['anonymous'] : []),
};

beforeEach(async () => {
  sandbox = await startTestSandbox();
});
afterEach(() => sandbox.close());

test.each(Object.entries(RULES))('%s has findings on most days, new ones, and some that end', (_rule, find) => {
  const days = collectDays(sandbox, 14, find);
  expect(days.filter(({ size }) => size > 0).length).toBeGreaterThan(8);
  expect(days.slice(1).some((found, day) => missingFrom(found, days[day]!).length > 0)).toBe(true);
  expect(days.slice(1).some((found, day) => missingFrom(days[day]!, found).length > 0)).toBe(true);
});

test('few volumes, claims and snapshots disappear in a day', () => {
  const tables: (() => Set<string>)[] = [
    () => new Set(state().volumes.keys()),
    () =>
      new Set([...state().volumes.values()].flatMap(({ claims }) => claims.map(({ allocationId }) => allocationId))),
    () => new Set(listable().flatMap(({ snapshots }) => [...snapshots.keys()])),
    () => new Set(listable().flatMap(({ externals }) => [...externals.keys()])),
  ];
  for (const table of tables) {
    const days = collectDays(sandbox, 14, table);
    for (const [day, found] of days.slice(1).entries()) {
      expect(missingFrom(days[day]!, found).length / found.size).toBeLessThanOrEqual(0.1);
    }
  }
});

test('about 40 volumes, 120 snapshots, four plugins and three namespaces; more of them at a larger scale', async () => {
  const count = (scheduler: SchedulerContext): number[] => [
    scheduler.volumes.size,
    [...scheduler.plugins.values()].reduce((sum, { snapshots }) => sum + snapshots.size, 0),
    scheduler.plugins.size,
    new Set([...scheduler.volumes.values()].map(({ namespace }) => namespace)).size,
  ];
  expect(count(state())).toEqual([42, 120, 4, 3]);
  const large = await startTestSandbox({ workspaces: 240 * 4 });
  const [volumes, snapshots] = count(large.services.scheduler.state);
  expect([volumes, snapshots! > 240]).toEqual([84, true]);
  await large.close();
});

test('the same options and day give the same bytes; another seed gives others', async () => {
  const [first, same, other] = [await startSandbox(), await startSandbox({ seed: 1 }), await startSandbox({ seed: 2 })];
  for (const each of [first, same, other]) for (let day = 0; day < 6; day++) each.tick();
  const lines = [
    ['scheduler', 'GET /volumes?type=csi&namespace=*'],
    ['scheduler', 'GET /volume/csi/order-queue?namespace=storefront'],
    ['scheduler', 'GET /volumes/snapshot?plugin_id=eb50&per_page=999'],
    ['secrets', 'GET /keymgmt/key/payments-signing'],
    ['mesh', 'GET /agent/connect/ca/roots'],
    ['mesh', 'GET /agent/connect/ca/leaf/payments'],
    ['autoscaler', 'GET /metrics'],
  ] as const;
  for (const [kind, line] of lines) {
    const answers = await Promise.all([first, same, other].map((each) => ask(each, kind, line)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers[1]!.text).toBe(answers[0]!.text);
    expect(answers[2]!.text).not.toBe(answers[0]!.text);
  }
  await Promise.all([first, same, other].map((each) => each.close()));
});

test('a change made through the API persists on the next day', async () => {
  const volume = () => read<{ Allocations: { NodeID: string }[] }>(sandbox, 'scheduler', 'GET /volume/csi/lost-cache');
  for (const { NodeID } of (await volume()).Allocations) {
    await ask(sandbox, 'scheduler', `DELETE /volume/csi/lost-cache/detach?node=${NodeID}`);
  }
  await ask(sandbox, 'scheduler', 'DELETE /volume/csi/missing-media');
  sandbox.tick();
  expect((await volume()).Allocations).toEqual([]);
  expect((await ask(sandbox, 'scheduler', 'GET /volume/csi/missing-media')).status).toBe(404);
});
