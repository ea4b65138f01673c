import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { type Answer, ask, read, type Sending } from './secrets-client.ts';

let sandbox: RunningSandbox;
const send = (line: string, sending?: Sending): Promise<Answer> => ask(sandbox, 'scheduler', line, sending);
const list = (query: string): Promise<Record<string, unknown>[]> =>
  read(sandbox, 'scheduler', `GET /volumes?type=csi&${query}`);

beforeEach(async () => {
  sandbox = await startTestSandbox({ flavor: 'hashicorp' });
});
afterEach(() => sandbox.close());

test('an unknown token and a missing one get different errors', async () => {
  expect((await send('GET /volumes', { headers: { 'X-Nomad-Token': 'wrong' } })).text).toBe('ACL token not found');
  expect((await send('GET /volumes', { headers: {} })).text).toBe('Permission denied');
});

test('the volume list is paged by a header, and responses have the index', async () => {
  const ids: string[] = [];
  let token: string | null = '';
  while (token !== null) {
    const { text, headers } = await send(
      `GET /volumes?type=csi&namespace=*&per_page=20&next_token=${encodeURIComponent(token)}`,
    );
    ids.push(...(JSON.parse(text) as { ID: string }[]).map(({ ID }) => ID));
    token = headers.get('x-nomad-nexttoken');
    expect(headers.get('x-nomad-index')).toBe(String(sandbox.services.scheduler.state.index));
  }
  expect(ids).toHaveLength(sandbox.services.scheduler.state.volumes.size);
  expect(new Set(ids).size).toBe(ids.length);
});

test('plugin_id is exact and finds nothing over all namespaces; node_id is any prefix', async () => {
  expect((await list('plugin_id=aws-ebs0')).length).toBeGreaterThan(0);
  expect(await list('plugin_id=aws')).toEqual([]);
  expect(await list('plugin_id=aws-ebs0&namespace=*')).toEqual([]);
  expect(await list('node_id=xyz')).toEqual([]);
  expect((await list('prefix=postgres')).map(({ ID }) => ID)).toEqual(['postgres-main']);
});

test('topologies are segments or null, exhaustion is a time', async () => {
  const all = await list('namespace=*');
  const byId = new Map(all.map((volume) => [volume.ID, volume]));
  expect(byId.get('postgres-main')).toMatchObject({
    Topologies: [{ Segments: { rack: 'R "1"' } }],
    ResourceExhausted: null,
    CreateTime: 0,
  });
  expect(byId.get('nfs-home')?.Topologies).toBeNull();
  expect(byId.get('mixed-queue')?.Topologies).toEqual([null, { Segments: expect.any(Object) as object }]);
  expect(byId.get('exhausted-spool')?.ResourceExhausted).toBe('2026-09-29T14:15:00.000Z');
});

test('a volume reads back with ProviderVersion, redacted options and null claims', async () => {
  const volume = await read<Record<string, unknown>>(sandbox, 'scheduler', 'GET /volume/csi/unprotected-ledger');
  expect(volume).toMatchObject({
    ProviderVersion: 'v1.34.0',
    Secrets: null,
    MountOptions: { MountFlags: ['[REDACTED]'] },
  });
  expect(volume).not.toHaveProperty('Version');
  expect(Object.values(volume.WriteAllocs as object)).toEqual([null]);
});

test('registering again merges, but not into another volume', async () => {
  const [volume] = await list('prefix=postgres');
  const item = {
    ID: 'postgres-main',
    PluginID: 'aws-ebs0',
    ExternalID: volume!.ExternalID,
    RequestedCapabilities: [{}],
  };
  const again = await send('PUT /volume/csi/ignored', {
    body: { Volumes: [{ ...item, Topologies: [{ Segments: { zone: 'z' } }] }] },
  });
  expect(again.status).toBe(200);
  expect(JSON.parse(again.text)).toMatchObject({
    Volumes: [{ ID: 'postgres-main', WriteAllocs: expect.any(Object) as object }],
    Warnings: '',
  });
  expect((await list('prefix=postgres'))[0]?.Topologies).toEqual([{ Segments: { zone: 'z' } }]);
  const moved = await send('POST /volumes', { body: { Volumes: [{ ...item, PluginID: 'beefcafe' }] } });
  expect([moved.status, moved.text]).toEqual([500, 'unable to update volume: postgres-main']);
});

test('snapshots are created without an ID in the path, and name the external source', async () => {
  const body = { Snapshots: [{ SourceVolumeID: 'unprotected-ledger' }] };
  const taken = await send('PUT /volumes/snapshot', { body });
  const external = (await list('prefix=unprotected'))[0]?.ExternalID;
  expect(JSON.parse(taken.text)).toMatchObject({
    Snapshots: [{ SourceVolumeID: '', ExternalSourceVolumeID: external }],
  });
  const [documented, sample] = [
    await send('PUT /volumes/snapshot/unprotected-ledger', { body }),
    await send('PUT /volume/csi/unprotected-ledger/snapshot', { body }),
  ];
  expect([documented.status, documented.text]).toEqual([404, '']);
  expect([sample.status, sample.text]).toEqual([404, 'resource not found']);
});

test('external lists need no page size, and an exact plugin', async () => {
  const { plugins } = sandbox.services.scheduler.state;
  const { Volumes } = await read<{ Volumes: object[] }>(
    sandbox,
    'scheduler',
    'GET /volumes/external?plugin_id=beefcafe',
  );
  expect(Volumes).toHaveLength(plugins.get('beefcafe')!.externals.size);
  expect((await send('GET /volumes/external?plugin_id=beef')).status).toBe(500);
});

test('policies tell hash and JobACL, PUT writes too', async () => {
  const [first] = await read<object[]>(sandbox, 'scheduler', 'GET /acl/policies?prefix=anonymous');
  expect(first).toMatchObject({ JobACL: null, Hash: expect.any(String) as string });
  const body = { Name: 'x', Rules: 'node {\n  policy = "read"\n}' };
  expect((await send('PUT /acl/policy/x', { body })).status).toBe(200);
});

test('a volume keeps every field of its definition, and refuses one that it would not keep', async () => {
  const fields = {
    RequestedCapacityMin: 1_048_576,
    RequestedCapacityMax: 10_485_760,
    Parameters: { owner: 'payments' },
    RequestedTopologies: { Required: [{ Segments: { zone: 'a' } }] },
  };
  const item = { ...fields, ID: 'new', PluginID: 'aws-ebs0', RequestedCapabilities: [{}] };
  const options = { MountOptions: { FSType: 'xfs', MountFlags: ['noatime'] } };
  await send('PUT /volume/csi/new/create', { body: { Volumes: [{ ...item, ...options }] } });
  expect(await read(sandbox, 'scheduler', 'GET /volume/csi/new')).toMatchObject({
    ...fields,
    MountOptions: { FSType: 'xfs', MountFlags: ['[REDACTED]'] },
  });
  const refused = await send('PUT /volume/csi/new/create', { body: { Volumes: [{ ...item, Invented: 1 }] } });
  expect([refused.status, refused.text]).toEqual([400, 'unknown field Invented']);
});

test('a page size hides volumes of one plugin: the page names no next one', async () => {
  const path = 'GET /volumes/external?plugin_id=beefcafe';
  const all = await read<{ Volumes: object[] }>(sandbox, 'scheduler', path);
  expect(await read(sandbox, 'scheduler', `${path}&per_page=2`)).toMatchObject({
    NextToken: '',
    Volumes: all.Volumes.slice(0, 2),
  });
  expect(all.Volumes.length).toBeGreaterThan(2);
  expect(await read(sandbox, 'scheduler', 'GET /volumes/external?plugin_id=aws-ebs0&per_page=2')).toMatchObject({
    NextToken: expect.stringMatching(/./) as string,
  });
});

test('a volume without a node is published on one empty node', async () => {
  const { Volumes } = await read<{ Volumes: { PublishedExternalNodeIDs: string[] }[] }>(
    sandbox,
    'scheduler',
    'GET /volumes/external?plugin_id=aws-ebs0',
  );
  const nodes = Volumes.map(({ PublishedExternalNodeIDs }) => PublishedExternalNodeIDs);
  expect(nodes).toContainEqual(['']);
  expect(nodes.every(({ length }) => length > 0)).toBe(true);
});

test('detaching fails whoever claims the volume, as measured', async () => {
  const { volumes, allocations } = sandbox.services.scheduler.state;
  const { claims } = [...volumes.values()].find(({ id }) => id === 'lost-cache')!;
  const node = allocations.get(claims[0]!.allocationId)!.nodeId;
  for (const id of ['lost-cache', 'postgres-main', 'missing-media']) {
    const { status, text } = await send(`DELETE /volume/csi/${id}/detach?node=${node}`);
    expect([status, text]).toEqual([500, 'Unknown allocation']);
  }
  sandbox.services.scheduler.state.canDetach = true;
  expect((await send(`DELETE /volume/csi/lost-cache/detach?node=${node}`)).status).toBe(200);
});

test('a snapshot of a name that exists is the existing one', async () => {
  const body = { Snapshots: [{ SourceVolumeID: 'unprotected-ledger', Name: 'one' }] };
  const [first, second] = [
    await send('PUT /volumes/snapshot', { body }),
    await send('PUT /volumes/snapshot', { body }),
  ];
  expect(JSON.parse(second.text)).toEqual(JSON.parse(first.text));
});

test('a policy returns its rules as JSON, and refuses a value that it does not know', async () => {
  expect(await read(sandbox, 'scheduler', 'GET /acl/policy/csi-operator')).toMatchObject({
    RulesJSON: {
      Namespaces: [{ Name: '*', Policy: '', Capabilities: ['csi-write-volume'] }],
      Plugin: { Policy: 'read' },
      Node: null,
    },
  });
  const write = (policy: string) =>
    send('POST /acl/policy/x', { body: { Name: 'x', Rules: `namespace "default" { ${policy} }` } });
  expect((await write('polcy = "read"')).status).toBe(200);
  expect((await write('policy = "everything"')).text).toContain('Invalid namespace policy');
});

test.each(['GET /volumes?type=csi&filter=x', 'GET /acl/policies?reverse=true'])('%s is refused', async (line) => {
  expect((await send(line)).status).toBe(400);
});
