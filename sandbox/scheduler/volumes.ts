import { createRandom } from '../random.ts';
import { HttpError } from '../router.ts';
import type { Request, Response, RouteTable } from '../types.ts';
import { allocationDocument, toNanoseconds } from './allocations.ts';
import { checkBlockingQuery, paginateByKey, requestNamespace, type SchedulerContext } from './context.ts';
import { HEX } from './plugins.ts';
import type { ClaimMode, VolumeDefinition, VolumeRecord } from './records.ts';

/** That of a volume which is there on day 0. */
export const DEFAULT_DEFINITION: VolumeDefinition = {
  MountOptions: { FSType: 'ext4', MountFlags: ['noatime'] },
  Parameters: null,
  Context: null,
  RequestedTopologies: null,
  Capacity: 0n,
  RequestedCapacityMin: 0n,
  RequestedCapacityMax: 0n,
  CloneID: '',
  SnapshotID: '',
};

/** docs/services/scheduler.md#volumes; the calls that change volumes are in `volume-writes.ts`. */
export const volumeRoutes: RouteTable<SchedulerContext> = {
  'GET /volumes': { right: 'list-volumes', handle: listVolumes },
  'GET /volume/csi/:volume_id': { right: 'read-volume', handle: readVolume },
};

/** The volume in the one namespace of the query: `*` means all for lists only. */
export function findVolume(context: SchedulerContext, request: Request, id = request.params.volume_id ?? '') {
  return context.volumes.get(volumeKey(requestNamespace(request), id));
}

/** The volumes registered for an external one: usually one, none for an orphan. */
export function findByExternal(context: SchedulerContext, pluginId: string, externalId: string): VolumeRecord[] {
  return [...context.volumes.values()].filter(
    (volume) => volume.pluginId === pluginId && volume.externalId === externalId,
  );
}

/** The volume in the storage provider. */
export function findSource(context: SchedulerContext, { pluginId, externalId }: VolumeRecord) {
  return context.plugins.get(pluginId)?.externals.get(externalId);
}

/** What a volume has where nothing else is said: it is schedulable, unclaimed and healthy. */
function usualFields(context: SchedulerContext) {
  const index = context.nextIndex();
  const nodes = context.nodes.length;
  return {
    schedulable: true,
    controllersHealthy: 1,
    controllersExpected: 1,
    nodesHealthy: nodes,
    nodesExpected: nodes,
    exhaustedAt: null,
    claims: [],
    secrets: null,
    backupSlot: null,
    createIndex: index,
    modifyIndex: index,
  };
}

/** Registers a volume, or replaces the one of this name. */
export function setVolume(
  context: SchedulerContext,
  given: Omit<VolumeRecord, keyof ReturnType<typeof usualFields>> & Partial<VolumeRecord>,
): VolumeRecord {
  const volume = { ...usualFields(context), ...given };
  context.volumes.set(volumeKey(volume.namespace, volume.id), volume);
  return volume;
}

export function deleteVolume(context: SchedulerContext, { namespace, id }: VolumeRecord): void {
  context.volumes.delete(volumeKey(namespace, id));
  context.deletedAt.volumes = context.nextIndex();
}

/** The index of the last change of any volume, which answers about volumes have in Nomad. */
function volumesJson(context: SchedulerContext, body: unknown, nextToken = ''): Response {
  const headers = context.tableHeaders(context.volumes.values(), context.deletedAt.volumes);
  return context.json(body, { ...headers, ...(nextToken !== '' && { 'x-nomad-nexttoken': nextToken }) });
}

function listItem(context: SchedulerContext, volume: VolumeRecord) {
  const count = (mode: ClaimMode): number => volume.claims.filter((claim) => claim.mode === mode).length;
  return { ...commonFields(context, volume), CurrentReaders: count('read'), CurrentWriters: count('write') };
}

function listVolumes(request: Request, context: SchedulerContext): Response {
  checkBlockingQuery(request);
  const isHashicorp = context.flavor === 'hashicorp';
  const type = request.query.get('type');
  if (type === null || (type === 'host' && isHashicorp)) return volumesJson(context, []);
  if (type !== 'csi') throw new HttpError(404, 'resource not found');
  const found = filterVolumes(request, context);
  // Nomad pages in the order of namespace and ID, and the token is the next of them.
  const { items, nextToken } = isHashicorp
    ? paginateByKey(request, found, ({ namespace, id }) => `${namespace}.${id}`)
    : { items: found, nextToken: '' };
  const body = items.map((volume) => listItem(context, volume));
  return volumesJson(context, body, nextToken);
}

function readVolume(request: Request, context: SchedulerContext): Response {
  checkBlockingQuery(request);
  const volume = findVolume(context, request);
  if (!volume) throw new HttpError(404, 'volume not found');
  return volumesJson(context, volumeDocument(context, volume));
}

function filterVolumes(request: Request, context: SchedulerContext): VolumeRecord[] {
  const isSpec = context.flavor === 'spec';
  const node = request.query.get('node_id') ?? '';
  for (const name of isSpec ? ['node_id', 'plugin_id'] : []) {
    if (isHexPrefix(request.query.get(name) ?? '')) continue;
    throw new HttpError(400, `${name} must have an even number of hexadecimal characters`);
  }
  const namespace = requestNamespace(request);
  const prefix = isSpec ? '' : (request.query.get('prefix') ?? '');
  const pluginId = request.query.get('plugin_id') ?? '';
  return [...context.volumes.values()].filter(
    (volume) =>
      (namespace === '*' || volume.namespace === namespace) &&
      volume.id.startsWith(prefix) &&
      isOfPlugin(context, volume, pluginId, namespace) &&
      isOnNode(context, volume, node),
  );
}

/** A prefix in the specification. In Nomad it is exact, and finds nothing over all namespaces. */
function isOfPlugin(context: SchedulerContext, volume: VolumeRecord, pluginId: string, namespace: string): boolean {
  if (pluginId === '') return true;
  if (context.flavor === 'spec') return volume.pluginId.startsWith(pluginId);
  return namespace !== '*' && volume.pluginId === pluginId;
}

function isOnNode(context: SchedulerContext, { claims }: VolumeRecord, prefix: string): boolean {
  if (prefix === '') return true;
  const { allocations } = context;
  return claims.some(({ allocationId }) => allocations.get(allocationId)?.nodeId.startsWith(prefix));
}

/** The fields that the list item and the read response share. */
function commonFields(context: SchedulerContext, volume: VolumeRecord) {
  const plugin = context.plugins.get(volume.pluginId);
  const isHashicorp = context.flavor === 'hashicorp';
  // The driver of one plugin says nothing of the node, and Nomad keeps the empty place.
  const unknown = volume.pluginId === HEX ? [null] : [];
  const segments = [...unknown, ...volume.topologies.map((topology) => ({ Segments: topology }))];
  const hasModes = volume.claims.length > 0 || !isHashicorp;
  return {
    ID: volume.id,
    ExternalID: volume.externalId,
    Namespace: volume.namespace,
    Name: volume.name,
    Topologies: isHashicorp ? (segments.length === 0 ? null : segments) : volume.topologies,
    AccessMode: hasModes ? (volume.capabilities[0]?.AccessMode ?? '') : '',
    AttachmentMode: hasModes ? (volume.capabilities[0]?.AttachmentMode ?? '') : '',
    Schedulable: volume.schedulable,
    PluginID: volume.pluginId,
    Provider: plugin?.provider ?? '',
    ControllerRequired: (plugin?.capabilities.length ?? 0) > 0,
    ControllersHealthy: volume.controllersHealthy,
    ControllersExpected: volume.controllersExpected,
    NodesHealthy: volume.nodesHealthy,
    NodesExpected: volume.nodesExpected,
    ResourceExhausted: resourceExhausted(context, volume),
    // Versions of Nomad without these times return 0.
    ...(isHashicorp ? { CreateTime: 0, ModifyTime: 0 } : {}),
    CreateIndex: volume.createIndex,
    ModifyIndex: volume.modifyIndex,
  };
}

/** An integer in the specification, which does not give the unit (here nanoseconds); a time or null in Nomad. */
function resourceExhausted(context: SchedulerContext, { id, exhaustedAt }: VolumeRecord) {
  if (context.flavor === 'hashicorp') return exhaustedAt?.toISOString() ?? null;
  return exhaustedAt ? toNanoseconds(exhaustedAt, createRandom(id)) : 0;
}

/** The response to a read. */
export function volumeDocument(context: SchedulerContext, volume: VolumeRecord) {
  const { allocations } = context;
  const version = context.plugins.get(volume.pluginId)?.version ?? '';
  const known = volume.claims.flatMap(({ allocationId }) => allocations.get(allocationId) ?? []);
  const leaked = volume.secrets ? { Secrets: volume.secrets } : {};
  return {
    ...commonFields(context, volume),
    RequestedCapabilities: volume.capabilities,
    Allocations: known.map((allocation) => allocationDocument(context, allocation)),
    ReadAllocs: claimMap(context, volume, 'read'),
    WriteAllocs: claimMap(context, volume, 'write'),
    ...(context.flavor === 'hashicorp'
      ? { ProviderVersion: version, ...nomadFields(volume) }
      : { Version: version, ...leaked }),
  };
}

/** Claims by allocation ID. With the specification the writers are complete objects, which it permits. */
function claimMap(context: SchedulerContext, volume: VolumeRecord, mode: ClaimMode) {
  const isComplete = context.flavor === 'spec' && mode === 'write';
  const entries = volume.claims
    .filter((claim) => claim.mode === mode)
    .map(({ allocationId }) => {
      const allocation = context.allocations.get(allocationId);
      return [allocationId, isComplete && allocation ? allocationDocument(context, allocation) : null] as const;
    });
  return Object.fromEntries(entries);
}

function nomadFields({ definition, secrets }: VolumeRecord) {
  const { MountOptions } = definition;
  const flags = MountOptions?.MountFlags ?? [];
  return {
    Secrets: secrets,
    ...definition,
    MountOptions: MountOptions && { ...MountOptions, MountFlags: flags.length === 0 ? null : ['[REDACTED]'] },
  };
}

export function volumeKey(namespace: string, id: string): string {
  return JSON.stringify([namespace, id]);
}

/** docs/services/scheduler.md#prefixes: whole bytes in hexadecimal. The dashes of a full node ID do not count. */
function isHexPrefix(prefix: string): boolean {
  return /^([0-9a-f]{2})*$/.test(prefix.replaceAll('-', ''));
}
