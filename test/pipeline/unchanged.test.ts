import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Flavor } from '../../sandbox/types.ts';
import { expectTable } from '../helpers/expect-table.ts';
import { testProject } from '../helpers/test-project.ts';
import { change, claimed, POLICIES, pullAt, pullOnce, scheduler, unclaimed } from './pull-again.ts';

const TABLES = ['acl_policies', 'volumes', 'volume_allocations'];

describe.each(['spec', 'hashicorp'] as const)('with the flavor %s', (flavor: Flavor) => {
  test('a pull of an unchanged estate sends lists, and reads only volumes with claims; then what changed is read; its landing loads into an empty warehouse, without those before it', async () => {
    const place = await pullOnce({ flavor });
    const { paths, reads, reused } = await pullAt(place, '02T02:15:00');
    expect(reads.sort()).toEqual(
      claimed(place)
        .map(({ id }) => id)
        .sort(),
    );
    const plugins = flavor === 'hashicorp' ? ['/v1/plugins', ...Array(3).fill('/v1/agent/self')] : [];
    expect(paths.filter((path) => !/\/volume\/csi\//u.test(path)).sort()).toEqual(
      ['/v1/acl/policies', '/v1/volumes', ...plugins].sort(),
    );
    expect(reused).toEqual({ acl_policies: scheduler(place).policies.size, volumes: unclaimed(place).length });
    for (const table of TABLES) await expectTable(place, table, flavor);
    const rows = await place.rows('select source, reused from pulls order by as_of, source');
    expect(rows.map(({ source, reused: count }) => [source, count])).toEqual([
      ['acl_policies', 0],
      ['volumes', 0],
      ['acl_policies', reused.acl_policies],
      ['volumes', reused.volumes],
    ]);
    const status = await place.tidemark(['status', '--json']);
    expect(status.json<{ sources: unknown[] }>().sources).toEqual([
      expect.objectContaining({ source: 'acl_policies', reused: reused.acl_policies }),
      expect.objectContaining({ source: 'volumes', reused: reused.volumes }),
    ]);
    const versions = await place.rows(
      'select (select count(*) from acl_policies_history) + (select count(*) from volumes_history) as n',
    );
    expect(versions).toEqual([{ n: scheduler(place).policies.size + scheduler(place).volumes.size }]);

    // one policy, one volume, a new policy, an allocation of an unchanged volume
    const { policies, volumes, allocations } = scheduler(place);
    const policy = change(place, policies.get('anonymous'), { description: 'changed' });
    const volume = change(place, unclaimed(place)[0], { capabilities: [] });
    policies.set('brand-new', { ...policy, name: 'brand-new', modifyIndex: policy.modifyIndex });
    const deleted = [...policies.keys()].find((name) => !['anonymous', 'brand-new'].includes(name))!;
    policies.delete(deleted);
    for (const allocation of allocations.values()) Object.assign(allocation, { clientStatus: 'lost' });
    const again = await pullAt(place, '03T02:15:00');
    const expected = ['anonymous', 'brand-new', deleted, volume.id, ...claimed(place).map(({ id }) => id)];
    expect(again.reads.sort()).toEqual(expected.sort());
    for (const table of TABLES) await expectTable(place, table, flavor);
    expect(volumes.size).toBeGreaterThan(0);

    // Its landing holds the objects that were not read.
    const landings = (await readdir(join(place.folder, 'data', 'landing'))).sort();
    const earlier = landings.slice(0, -1).map((name) => join('landing', name));
    for (const name of ['warehouse.duckdb', 'work', ...earlier]) {
      await rm(join(place.folder, 'data', name), { recursive: true });
    }
    await pullAt(place, '04T02:15:00', ['--from', landings.at(-1)!]);
    for (const table of TABLES) await expectTable(place, table, flavor);
  });

  test('an index that is lower than before, as of a restored server, makes everything be read', async () => {
    const place = await pullOnce({ flavor }, POLICIES);
    const { policies } = scheduler(place);
    for (const policy of policies.values()) policy.modifyIndex -= 1;
    Object.assign(policies.get('anonymous')!, { description: 'restored' });
    const { reused, stderr } = await pullAt(place, '02T02:15:00', POLICIES);
    expect(reused).toEqual({ acl_policies: 0 });
    expect(stderr).toContain('the index of the policies is lower than before');
    await expectTable(place, 'acl_policies', flavor);
  });
});

test('a list of an earlier state is read again: what it lacks is not gone', async () => {
  let stale = 0;
  let isBroken = false;
  const place = await pullOnce({
    flavor: 'hashicorp',
    faultHook: ({ path }, service) => {
      if (path !== '/v1/volumes') return undefined;
      if (isBroken) return service.error(403, 'no');
      if (stale-- <= 0) return undefined;
      return { status: 200, headers: { 'content-type': 'application/json', 'x-nomad-index': '7' }, body: earlier };
    },
  });
  const [volume] = unclaimed(place);
  const listed = [...scheduler(place).volumes.values()].filter((one) => one !== volume);
  const earlier = JSON.stringify(
    listed.map(({ id: ID, namespace: Namespace }) => ({ ID, Namespace, CreateIndex: 7, ModifyIndex: 7 })),
  );
  // The second one is a full read, and before the third one a pull fails.
  for (const night of ['02', '09', '11']) {
    if (night === '11') {
      isBroken = true;
      await pullAt(place, '10T02:15:00', ['--source', 'volumes'], 3);
      isBroken = false;
    }
    stale = 1;
    const { pulls } = await pullAt(place, `${night}T02:15:00`, ['--source', 'volumes']);
    expect(pulls[0]).toMatchObject({
      status: 'complete',
      changed: 0,
      deleted: 0,
      note: 'extracted again: the index of the volumes is lower than before',
    });
    await expectTable(place, 'volumes', 'hashicorp');
  }
});

test('what a server of an earlier state answers is read again, and fails where it goes on', async () => {
  let stale = 0;
  const place = await pullOnce({
    faultHook: ({ method, path }) => {
      const name = decodeURIComponent(path.split('/').at(-1) ?? '');
      const isObject = method === 'GET' && /^\/v1\/(?:acl\/policy|volume\/csi)\//u.test(path);
      if (!isObject || stale-- <= 0) return undefined;
      const earlier = {
        Name: name,
        Rules: '',
        ID: name,
        Namespace: 'default',
        ModifyIndex: 7,
        ReadAllocs: {},
        WriteAllocs: {},
      };
      return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(earlier) };
    },
  });
  for (const [at, source, first] of [
    ['02', 'acl_policies', () => scheduler(place).policies.get('anonymous')],
    ['03', 'volumes', () => claimed(place)[0]],
  ] as const) {
    change(place, first(), {});
    stale = 1;
    await pullAt(place, `${at}T02:15:00`, ['--source', source]);
    await expectTable(place, source, 'spec');
    stale = Number.POSITIVE_INFINITY;
    const { pulls } = await pullAt(place, `${at}T03:15:00`, ['--source', source, '--fresh'], 3);
    expect(pulls[0]?.error).toMatch(/: the answer for .* is older than the list/u);
    await expectTable(place, source, 'spec');
    stale = 0;
  }
});

test('an object with an ETag is requested with it, and 304 takes it from the last pull', async () => {
  const seen: string[] = [];
  let changed = '';
  const place = await testProject({
    workspaces: 5,
    faultHook: ({ path, headers }) => {
      const name = /^\/v1\/keymgmt\/key\/([^/]+)$/u.exec(path)?.[1];
      if (name === undefined) return undefined;
      const etag = `"${name}${name === changed ? ' 2' : ''}"`;
      seen.push(headers['if-none-match'] ?? 'none');
      if (headers['if-none-match'] === etag) return { status: 304, headers: { etag } };
      const data = { type: 'rsa-2048', latest_version: name === changed ? 2 : 1, keys: {} };
      return { status: 200, headers: { etag, 'content-type': 'application/json' }, body: JSON.stringify({ data }) };
    },
  });
  const keys = ['--source', 'keys'];
  await pullAt(place, '01T02:15:00', keys);
  const names = (await place.rows('select name from keys order by name')).map(({ name }) => String(name));
  expect(new Set(seen)).toEqual(new Set(['none']));
  seen.length = 0;
  changed = encodeURIComponent(names[0]!);
  const { reused } = await pullAt(place, '02T02:15:00', keys);
  expect(seen).toHaveLength(names.length);
  expect(seen).not.toContain('none');
  expect(reused).toEqual({ keys: names.length - 1 });
  const rows = await place.rows('select name, type, latest_version from keys order by name');
  expect(rows).toEqual(names.map((name, index) => ({ name, type: 'rsa-2048', latest_version: index === 0 ? 2 : 1 })));
  seen.length = 0;
  await pullAt(place, '08T02:15:00', keys);
  expect(new Set(seen)).toEqual(new Set(['none']));
});

test.each([
  ['a second before the answer', 'Sun, 01 Nov 2026 02:14:59 GMT', true],
  ['in the second of the answer, which may change again in it', 'Sun, 01 Nov 2026 02:15:00 GMT', false],
])('a time of change proves that an object is unchanged: %s', async (_, modified, isProof) => {
  const seen: unknown[] = [];
  const place = await testProject({
    workspaces: 5,
    faultHook: ({ path, headers }) => {
      if (!/^\/v1\/keymgmt\/key\/[^/]+$/u.test(path)) return undefined;
      seen.push(headers['if-modified-since']);
      const sent = {
        'content-type': 'application/json',
        date: 'Sun, 01 Nov 2026 02:15:00 GMT',
        'last-modified': modified,
      };
      return { status: 200, headers: sent, body: '{"data": {"type": "rsa-2048", "latest_version": 1, "keys": {}}}' };
    },
  });
  const keys = ['--source', 'keys'];
  await pullAt(place, '01T02:15:00', keys);
  seen.length = 0;
  await pullAt(place, '02T02:15:00', keys);
  expect(new Set(seen)).toEqual(new Set([isProof ? modified : undefined]));
});
