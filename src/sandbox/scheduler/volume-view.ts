import { createRandom } from '../prng.ts';
import { allocationJson, nanoseconds } from './allocation-view.ts';
import type { SchedulerWorld, Volume } from './state.ts';

/** An integer in the document (of what, it does not say: here nanoseconds), a time in Nomad (live-services.md C3). */
function resourceExhausted({ flavor }: SchedulerWorld, { id, exhaustedAt }: Volume): bigint | number | string {
  if (flavor === 'hashicorp') return exhaustedAt?.toISOString() ?? '0001-01-01T00:00:00Z';
  return exhaustedAt ? nanoseconds(exhaustedAt, createRandom(id)) : 0;
}

/** The fields that list item and read answer share. */
function commonFields(world: SchedulerWorld, volume: Volume) {
  const plugin = world.state.plugins.get(volume.pluginId);
  const hashicorp = world.flavor === 'hashicorp';
  const segments = volume.topologies.map((topology) => ({ Segments: topology }));
  const nomadTopologies = segments.length === 0 ? null : segments;
  return {
    ID: volume.id,
    ExternalID: volume.externalId,
    Namespace: volume.namespace,
    Name: volume.name,
    Topologies: hashicorp ? nomadTopologies : volume.topologies,
    AccessMode: volume.claims.length > 0 || !hashicorp ? (volume.capabilities[0]?.AccessMode ?? '') : '',
    AttachmentMode: volume.claims.length > 0 || !hashicorp ? (volume.capabilities[0]?.AttachmentMode ?? '') : '',
    Schedulable: volume.schedulable,
    PluginID: volume.pluginId,
    Provider: plugin?.provider ?? '',
    ControllerRequired: (plugin?.capabilities.length ?? 0) > 0,
    ControllersHealthy: volume.controllersHealthy,
    ControllersExpected: volume.controllersExpected,
    NodesHealthy: volume.nodesHealthy,
    NodesExpected: volume.nodesExpected,
    ResourceExhausted: resourceExhausted(world, volume),
    CreateIndex: volume.createIndex,
    ModifyIndex: volume.modifyIndex,
  };
}

export function volumeListItem(world: SchedulerWorld, volume: Volume) {
  const count = (mode: string): number => volume.claims.filter((claim) => claim.mode === mode).length;
  return { ...commonFields(world, volume), CurrentReaders: count('read'), CurrentWriters: count('write') };
}

/** Claims by allocation ID: with the document's flavor the writers are spelled out, which it allows. */
function claimMap(world: SchedulerWorld, volume: Volume, mode: 'read' | 'write') {
  const entries = volume.claims
    .filter((claim) => claim.mode === mode)
    .map(({ allocationId }) => {
      const allocation = world.state.allocations.get(allocationId);
      const spelledOut = world.flavor === 'documents' && mode === 'write' && allocation !== undefined;
      return [allocationId, spelledOut ? allocationJson(world, allocation) : null] as const;
    });
  return Object.fromEntries(entries);
}

function nomadFields(world: SchedulerWorld, volume: Volume) {
  return {
    Secrets: volume.secrets,
    MountOptions: { FSType: 'ext4', MountFlags: ['[REDACTED]'] },
    Parameters: null,
    Context: null,
    RequestedTopologies: null,
    Capacity: world.state.plugins.get(volume.pluginId)?.externals.get(volume.externalId)?.capacityBytes ?? 0,
    RequestedCapacityMin: 0,
    RequestedCapacityMax: 0,
    CloneID: '',
    SnapshotID: '',
  };
}

export function volumeReadJson(world: SchedulerWorld, volume: Volume) {
  const version = world.state.plugins.get(volume.pluginId)?.version ?? '';
  const known = volume.claims.map(({ allocationId }) => world.state.allocations.get(allocationId));
  const leaked = volume.secrets ? { Secrets: volume.secrets } : {};
  return {
    ...commonFields(world, volume),
    RequestedCapabilities: volume.capabilities,
    Allocations: known.filter((allocation) => allocation !== undefined).map((found) => allocationJson(world, found)),
    ReadAllocs: claimMap(world, volume, 'read'),
    WriteAllocs: claimMap(world, volume, 'write'),
    ...(world.flavor === 'hashicorp'
      ? { ProviderVersion: version, ...nomadFields(world, volume) }
      : { Version: version, ...leaked }),
  };
}
