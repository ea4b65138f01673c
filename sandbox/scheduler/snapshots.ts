import { createRandom } from '../random.ts';
import { HttpError } from '../router.ts';
import type { Flavor, Request, Response, RouteTable } from '../types.ts';
import { isRunning } from './allocations.ts';
import {
  type Body,
  checkBlockingQuery,
  mapField,
  objectsField,
  paginate,
  parseBody,
  refuseUnknownFields,
  type SchedulerContext,
  stringField,
} from './context.ts';
import { addSnapshot, lacking, providerNodeId, selectPlugins } from './plugins.ts';
import type { ExternalVolumeRecord, SnapshotRecord, StoragePlugin } from './records.ts';
import { findByExternal, findSource, findVolume } from './volumes.ts';

/** docs/services/scheduler.md#snapshots. */
export const snapshotRoutes = (flavor: Flavor): RouteTable<SchedulerContext> => {
  const path = '/volumes/snapshot';
  const write = { right: 'write-volume', asksPlugin: true } as const;
  const create = { ...write, handle: createSnapshots };
  return {
    [`GET ${path}`]: { right: 'list-volumes', asksPlugin: true, handle: listSnapshots },
    [`DELETE ${path}`]: { ...write, handle: deleteSnapshot },
    ...(flavor === 'spec' && { [`PUT ${path}/:volume_id`]: create }),
    ...(flavor === 'hashicorp' && {
      [`PUT ${path}`]: create,
      [`POST ${path}`]: create,
      // Nomad does not have this path of the specification.
      'PUT /volume/csi/:volume_id/snapshot': { ...write, handle: notFound },
    }),
  };
};

function listSnapshots(request: Request, context: SchedulerContext): Response {
  checkBlockingQuery(request);
  const plugins = selectPlugins(context, request, 'LIST_SNAPSHOTS');
  const { items, nextToken } = pageHeld(request, context, plugins, ({ snapshots }) => snapshots);
  return context.pluginList({
    NextToken: nextToken,
    Snapshots: items.map((snapshot) => snapshotObject(context, snapshot)),
  });
}

/** One page of what the storage of the plugins has, each with its plugin. */
function pageHeld<T extends { readonly id: string }>(
  request: Request,
  { flavor }: SchedulerContext,
  plugins: readonly StoragePlugin[],
  find: (plugin: StoragePlugin) => ReadonlyMap<string, T>,
) {
  const held = plugins.flatMap((plugin) => [...find(plugin).values()].map((one) => ({ ...one, plugin })));
  return paginate(request, flavor, held);
}

type Held<T> = T & { readonly plugin: StoragePlugin };

/** Creates the items of `Snapshots` one by one, up to the first invalid one. */
function createSnapshots(request: Request, context: SchedulerContext): Response {
  const items = objectsField(parseBody(request), 'Snapshots');
  if (items.length === 0) throw new HttpError(400, 'missing snapshot definition');
  return context.pluginList({ Snapshots: items.map((item) => createSnapshot(context, item, request)) });
}

function createSnapshot(context: SchedulerContext, item: Body, request: Request): Readonly<Record<string, unknown>> {
  const isHashicorp = context.flavor === 'hashicorp';
  // Clients of Nomad send all fields of its structure, empty ones too.
  refuseUnknownFields(Object.fromEntries(Object.entries(item).filter(([, value]) => value)), FIELDS);
  const id = stringField(item, 'SourceVolumeID') || (request.params.volume_id ?? '');
  const volume = findVolume(context, request, id);
  if (!volume) throw new HttpError(500, `volume not found: ${id}`);
  const plugin = context.plugins.get(stringField(item, 'PluginID') || volume.pluginId);
  if (!plugin) throw new HttpError(500, `no such plugin: ${stringField(item, 'PluginID')}`);
  if (!plugin.capabilities.includes('CREATE_DELETE_SNAPSHOT')) throw lacking('CREATE_DELETE_SNAPSHOT');
  const external = plugin.id === volume.pluginId ? findSource(context, volume) : undefined;
  if (!external) {
    throw new HttpError(500, `rpc error: volume ${volume.externalId} not found in the storage provider`);
  }
  const takeSnapshot = () => {
    const random = createRandom(`${context.seed}/scheduler/snapshot/${context.nextIndex()}`);
    const parameters = mapField(item, 'Parameters');
    const taken = addSnapshot(plugin, random, external, request.now, parameters, stringField(item, 'Name'));
    return Object.assign(taken, { ready: !plugin.hasSlowSnapshots });
  };
  const snapshot = findNamed(context, plugin, item) ?? takeSnapshot();
  return {
    ID: snapshot.id,
    SourceVolumeID: isHashicorp ? '' : volume.id,
    ...(isHashicorp ? { ...LIVE_FIELDS, ExternalSourceVolumeID: external.id, PluginID: '', Parameters: null } : {}),
    SizeBytes: snapshot.sizeBytes,
    CreateTime: toUnixSeconds(snapshot.createdAt),
    IsReady: snapshot.ready,
  };
}

/** A name that exists is its snapshot: the Container Storage Interface requires it of a driver. */
function findNamed(context: SchedulerContext, plugin: StoragePlugin, item: Body): SnapshotRecord | undefined {
  const name = stringField(item, 'Name');
  if (name === '' || context.flavor === 'spec') return undefined;
  return [...plugin.snapshots.values()].find((snapshot) => snapshot.name === name);
}

/** Deleting a snapshot that does not exist succeeds, as the Container Storage Interface requires. */
function deleteSnapshot(request: Request, context: SchedulerContext): Response {
  const id = request.query.get('snapshot_id') ?? '';
  const plugins = selectPlugins(context, request, 'CREATE_DELETE_SNAPSHOT');
  if (id === '') throw new HttpError(400, 'missing snapshot ID');
  for (const plugin of plugins) plugin.snapshots.delete(id);
  return context.empty();
}

function snapshotObject(context: SchedulerContext, snapshot: Held<SnapshotRecord>) {
  return {
    CreateTime: toUnixSeconds(snapshot.createdAt),
    ExternalSourceVolumeID: snapshot.sourceId,
    ID: snapshot.id,
    IsReady: snapshot.ready,
    Parameters: snapshot.parameters,
    PluginID: snapshot.plugin.id,
    SizeBytes: snapshot.sizeBytes,
    ...(context.flavor === 'hashicorp' ? LIVE_FIELDS : {}),
  };
}

/** Nomad's other fields of a snapshot, which its drivers leave empty. */
const LIVE_FIELDS = { Name: '', SourceVolumeID: '', Secrets: null };

const FIELDS = ['ID', 'SourceVolumeID', 'ExternalSourceVolumeID', 'PluginID', 'Name', 'Secrets', 'Parameters'];

function toUnixSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}

function notFound(): never {
  throw new HttpError(404, 'resource not found');
}

/** docs/services/scheduler.md#external-volumes. */
export const externalRoutes: RouteTable<SchedulerContext> = {
  'GET /volumes/external': { right: 'list-volumes', asksPlugin: true, handle: listExternals },
};

function listExternals(request: Request, context: SchedulerContext): Response {
  checkBlockingQuery(request);
  const plugins = selectPlugins(context, request, 'LIST_VOLUMES');
  const { items, nextToken } = pageHeld(request, context, plugins, ({ externals }) => externals);
  return context.pluginList({
    // One driver honours the size of a page and never names a next one.
    NextToken: plugins.some(({ hidesPages }) => hidesPages) ? '' : nextToken,
    Volumes: items.map((external) => externalObject(context, external)),
  });
}

function externalObject(context: SchedulerContext, external: Held<ExternalVolumeRecord>) {
  return {
    ExternalID: external.id,
    CapacityBytes: external.capacityBytes,
    SnapshotID: external.snapshotId,
    PublishedExternalNodeIDs: publishedNodes(context, external),
    IsAbnormal: external.abnormal,
    Status: external.status,
    ...(context.flavor === 'hashicorp' ? { CloneID: '', VolumeContext: null } : {}),
  };
}

/** The nodes of running allocations that claim the volume. */
function publishedNodes(context: SchedulerContext, { plugin, id }: Held<ExternalVolumeRecord>): string[] {
  const nodes = findByExternal(context, plugin.id, id)
    .flatMap(({ claims }) => claims)
    .filter(({ allocationId }) => isRunning(context, allocationId))
    .map(({ allocationId }) => providerNodeId(context.allocations.get(allocationId)!.nodeId));
  // A driver without a node says so with one empty ID.
  if (nodes.length === 0 && context.flavor === 'hashicorp') return [''];
  return [...new Set(nodes)];
}
