import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import type { VolumeRecord } from '../../sandbox/scheduler/records.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { type Answer, ask, read, type Sending } from './secrets-client.ts';

interface ListItem {
  readonly ID: string;
  readonly PluginID: string;
  readonly Namespace: string;
}

let sandbox: RunningSandbox;
const send = (line: string, sending?: Sending): Promise<Answer> => ask(sandbox, 'scheduler', line, sending);
const list = (query: string): Promise<ListItem[]> => read(sandbox, 'scheduler', `GET /volumes?${query}`);
const registered = (): VolumeRecord[] => [...sandbox.services.scheduler.state.volumes.values()];

async function outcome(line: string, body?: unknown): Promise<[status: number, text: string]> {
  const { status, text } = await send(line, { body });
  return [status, text];
}

const CAPABILITIES = [{ AccessMode: 'single-node-writer', AttachmentMode: 'file-system' }];
const volumeBody = (fields: Readonly<Record<string, unknown>>) => ({
  Volumes: [{ PluginID: 'eb50', RequestedCapabilities: CAPABILITIES, ...fields }],
});

function orphan(): string {
  const taken = new Set(registered().map(({ externalId }) => externalId));
  return [...sandbox.services.scheduler.state.plugins.get('eb50')!.externals.keys()].find((id) => !taken.has(id))!;
}

beforeEach(async () => {
  sandbox = await startTestSandbox();
});
afterEach(() => sandbox.close());

test('volumes are listed with type=csi only, of one namespace or of all', async () => {
  expect(await list('namespace=*')).toEqual([]);
  expect(await list('type=csi&namespace=*')).toHaveLength(registered().length);
  const inDefault = await list('type=csi');
  expect(inDefault.length).toBeGreaterThan(10);
  expect(new Set(inDefault.map(({ Namespace }) => Namespace))).toEqual(new Set(['default']));
  expect(new Set((await list('type=csi&namespace=*')).map(({ Namespace }) => Namespace)).size).toBe(3);
  expect(await outcome('GET /volumes?type=floppy')).toEqual([404, 'resource not found']);
});

test('node_id and plugin_id are prefixes of whole bytes in hexadecimal', async () => {
  const running = [...sandbox.services.scheduler.state.allocations.values()].find(
    ({ namespace }) => namespace === 'default',
  )!;
  const onNode = await list(`type=csi&node_id=${running.nodeId}`);
  expect(onNode.length).toBeGreaterThan(0);
  expect(onNode.length).toBeLessThan((await list('type=csi')).length);
  expect(await list(`type=csi&node_id=${running.nodeId.slice(0, 4)}`)).toEqual(onNode);
  for (const bad of ['abc', 'xy', 'AB']) expect((await send(`GET /volumes?type=csi&node_id=${bad}`)).status).toBe(400);
  for (const bad of ['aws', 'eb5']) expect((await send(`GET /volumes?type=csi&plugin_id=${bad}`)).status).toBe(400);
  const ofPlugin = await list('type=csi&plugin_id=eb');
  expect(new Set(ofPlugin.map(({ PluginID }) => PluginID))).toEqual(new Set(['eb50']));
});

test('a list item has the specified fields and no other', async () => {
  const [item] = await list('type=csi');
  expect(Object.keys(item!).sort()).toEqual(
    `AccessMode AttachmentMode ControllerRequired ControllersExpected ControllersHealthy CreateIndex CurrentReaders CurrentWriters ExternalID ID ModifyIndex Name Namespace NodesExpected NodesHealthy PluginID Provider ResourceExhausted Schedulable Topologies`.split(
      ' ',
    ),
  );
});

test('nanoseconds and bytes beyond 2^53 are written digit for digit', async () => {
  const { text } = await send('GET /volume/csi/postgres-main');
  expect(text).toMatch(/"CreateTime":1\d{18}\b/);
  expect(text).toMatch(/"RescheduleTracker":/);
  const external = await send('GET /volumes/external?plugin_id=eb50&per_page=500');
  expect(external.text).toContain('"CapacityBytes":9007199254740993');
});

test('a volume is read by its full ID in its namespace, with allocations by ID', async () => {
  expect(await outcome('GET /volume/csi/lost-reports')).toEqual([404, 'volume not found']);
  expect(await outcome('GET /volume/csi/lost-reports?namespace=*')).toEqual([404, 'volume not found']);
  const volume = await read<{ Allocations: { ID: string; ClientStatus: string }[]; WriteAllocs: object }>(
    sandbox,
    'scheduler',
    'GET /volume/csi/lost-reports?namespace=prod',
  );
  expect(volume.Allocations.map(({ ClientStatus }) => ClientStatus)).toEqual(['lost', 'failed']);
  expect(Object.keys(volume.WriteAllocs)).toEqual(volume.Allocations.map(({ ID }) => ID));
});

test('one volume leaks its planted secret on reading, no other shows any', async () => {
  const leaks: string[] = [];
  for (const { id, namespace } of registered()) {
    const { text } = await send(`GET /volume/csi/${encodeURIComponent(id)}?namespace=${encodeURIComponent(namespace)}`);
    if (text.includes('planted-volume-secret')) leaks.push(id);
    expect(text.includes('"Secrets"')).toBe(leaks.includes(id));
  }
  expect(leaks).toEqual(['postgres-main']);
});

test('a claim may be of an allocation that the servers have forgotten', async () => {
  const volume = await read<{ Allocations: object[]; ReadAllocs: object }>(
    sandbox,
    'scheduler',
    'GET /volume/csi/ghost-claim',
  );
  expect(volume.Allocations).toEqual([]);
  expect(Object.values(volume.ReadAllocs)).toEqual([null]);
});

test('an external volume is registered once, and only if the provider has it', async () => {
  const ExternalID = orphan();
  const body = volumeBody({ ID: 'adopted', Name: 'a', ExternalID, Secrets: { key: 'planted' } });
  expect(await outcome('PUT /volume/csi/adopted', volumeBody({ ID: 'adopted', ExternalID: 'vol-none' }))).toEqual([
    500,
    'volume does not exist in the storage provider: vol-none',
  ]);
  expect(await outcome('PUT /volume/csi/adopted', body)).toEqual([200, '']);
  expect((await send('GET /volume/csi/adopted')).text).not.toContain('planted');
  expect(await read(sandbox, 'scheduler', 'GET /volume/csi/adopted')).toMatchObject({ ExternalID, Schedulable: true });
  expect(await outcome('PUT /volume/csi/adopted', body)).toEqual([500, 'volume already registered: adopted']);
});

test('a volume is created in the provider and registered; its shape is validated', async () => {
  const externals = sandbox.services.scheduler.state.plugins.get('eb50')!.externals;
  const before = externals.size;
  const path = 'PUT /volume/csi/new/create';
  const asked = {
    ID: 'new',
    Namespace: 'prod',
    RequestedCapacityMin: 10_737_418_240,
    RequestedCapacityMax: 10_737_418_240,
  };
  expect(await outcome(path, volumeBody({ ...asked, RequestedCapacityMax: 1 }))).toEqual([
    500,
    'validation: requested capacity minimum exceeds the maximum',
  ]);
  expect(await outcome(path, volumeBody({ ...asked, SnapshotID: 'none' }))).toEqual([500, 'snapshot not found: none']);
  expect(await outcome(path, volumeBody({ ...asked, PluginID: 'none' }))).toEqual([500, 'no such plugin: none']);
  expect(await outcome(path, volumeBody({ ...asked, PluginID: 'legacy-nfs' }))).toEqual([
    500,
    'plugin does not support CREATE_DELETE_VOLUME',
  ]);
  expect(await outcome(path, volumeBody({ ...asked, RequestedCapabilities: [] }))).toEqual([
    500,
    'validation: must include at least one capability block',
  ]);
  expect(await outcome(path, {})).toEqual([400, 'missing volume definition']);
  expect(externals.size).toBe(before);
  expect(await outcome(path, volumeBody(asked))).toEqual([200, '']);
  expect(externals.size).toBe(before + 1);
  const created = await read<{ ExternalID: string }>(sandbox, 'scheduler', 'GET /volume/csi/new?namespace=prod');
  expect(externals.get(created.ExternalID)?.capacityBytes).toBe(10_737_418_240n);
  expect(await outcome(path, volumeBody(asked))).toEqual([500, 'volume already registered: new']);
});

test('a volume in use is neither deregistered nor deleted; force drops only what ended', async () => {
  expect(await outcome('DELETE /volume/csi/lost-cache')).toEqual([500, 'volume in use: lost-cache']);
  expect(await outcome('DELETE /volume/csi/lost-cache/delete')).toEqual([500, 'volume in use: lost-cache']);
  expect(await outcome('DELETE /volume/csi/lost-cache?force=maybe')).toEqual([400, 'invalid force value']);
  expect(await outcome('DELETE /volume/csi/lost-cache?force=true')).toEqual([200, '']);
  expect(await outcome('DELETE /volume/csi/lost-cache')).toEqual([500, 'volume not found']);
  expect(await outcome('DELETE /volume/csi/mixed-queue?force=true')).toEqual([500, 'volume in use: mixed-queue']);
});

test('as Nomad does, a volume in use is deleted in the storage provider before the deletion is refused', async () => {
  await sandbox.close();
  sandbox = await startTestSandbox({ flavor: 'hashicorp' });
  const { plugins } = sandbox.services.scheduler.state;
  const claimed = registered().find(
    ({ claims, pluginId, externalId, namespace }) =>
      claims.length > 0 && namespace === 'default' && plugins.get(pluginId)!.externals.has(externalId),
  )!;
  expect(await outcome(`DELETE /volume/csi/${claimed.id}/delete`)).toEqual([500, `volume in use: ${claimed.id}`]);
  expect(plugins.get(claimed.pluginId)!.externals.has(claimed.externalId)).toBe(false);
});

test('deregistering leaves the external volume, deleting takes it along', async () => {
  const { externals } = sandbox.services.scheduler.state.plugins.get('eb50')!;
  const idle = registered().filter(({ pluginId, claims }) => pluginId === 'eb50' && claims.length === 0);
  const [first, second] = idle.filter(({ externalId }) => externals.has(externalId));
  const path = ({ id }: VolumeRecord, rest = '') => `DELETE /volume/csi/${encodeURIComponent(id)}${rest}`;
  const query = ({ namespace }: VolumeRecord) => `?namespace=${encodeURIComponent(namespace)}`;
  expect(await outcome(path(first!) + query(first!))).toEqual([200, '']);
  expect(externals.has(first!.externalId)).toBe(true);
  expect(await outcome(path(second!, '/delete') + query(second!))).toEqual([200, '']);
  expect(externals.has(second!.externalId)).toBe(false);
  expect(await outcome('DELETE /volume/csi/nfs-home/delete')).toEqual([
    500,
    'plugin does not support CREATE_DELETE_VOLUME',
  ]);
});

test('detaching needs a node, refuses running claims, and releases claims of ended allocations on that node', async () => {
  const volume = registered().find(({ id }) => id === 'lost-cache')!;
  const { allocations } = sandbox.services.scheduler.state;
  const nodes = [...new Set(volume.claims.map(({ allocationId }) => allocations.get(allocationId)!.nodeId))];
  expect(await outcome('DELETE /volume/csi/lost-cache/detach')).toEqual([400, 'detach requires node ID']);
  expect(await outcome('DELETE /volume/csi/lost-cache/detach?node=elsewhere')).toEqual([200, '']);
  expect(volume.claims).toHaveLength(2);
  for (const node of nodes)
    expect(await outcome(`DELETE /volume/csi/lost-cache/detach?node=${node}`)).toEqual([200, '']);
  expect(volume.claims).toEqual([]);
  expect(await outcome('DELETE /volume/csi/postgres-main/detach?node=any')).toEqual([
    500,
    'volume in use: postgres-main',
  ]);
});
