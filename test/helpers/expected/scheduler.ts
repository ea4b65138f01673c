import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { type HclItem, parseRuleItems } from '../../../sandbox/hcl.ts';
import { createRandom } from '../../../sandbox/random.ts';
import { toNanoseconds } from '../../../sandbox/scheduler/allocations.ts';
import type { SchedulerContext } from '../../../sandbox/scheduler/context.ts';
import { providerNodeId } from '../../../sandbox/scheduler/plugins.ts';
import { tryRulesJson } from '../../../sandbox/scheduler/policies.ts';
import type { Allocation, Policy, StoragePlugin, VolumeRecord } from '../../../sandbox/scheduler/records.ts';
import type { Flavor } from '../../../sandbox/types.ts';
import { digits, filled, object, type Rows, type Tables, time } from './values.ts';

const target = 'nomad';

export function schedulerTables(state: SchedulerContext, flavor: Flavor): Tables {
  const volumes = [...state.volumes.values()];
  const named = new Set(volumes.map(({ pluginId }) => pluginId));
  const plugins = [...state.plugins.values()].filter(({ id }) => named.has(id));
  return {
    acl_policies: [...state.policies.values()].map((policy) => policyRow(policy, flavor)),
    volumes: volumes.map((volume) => volumeRow(state, volume, flavor)),
    volume_allocations: volumes.flatMap((volume) => claimRows(state, volume, flavor)),
    external_volumes: plugins.filter(can('LIST_VOLUMES')).flatMap((plugin) => externalRows(state, plugin, flavor)),
    external_volume_listings: [
      ...plugins.map((plugin) => listingRow(plugin, 'LIST_VOLUMES', flavor)),
      ...(flavor === 'spec' ? [{ target, plugin_id: '*', supported: true, error: null, extra: null }] : []),
    ],
    volume_snapshots: plugins.filter(can('LIST_SNAPSHOTS')).flatMap((plugin) => snapshotRows(plugin, flavor)),
    volume_snapshot_listings: plugins.map((plugin) => listingRow(plugin, 'LIST_SNAPSHOTS', flavor)),
  };
}

/** What the specification demands of a prefix, and the plugin that cannot list does not have. */
const NOT_HEXADECIMAL = 'plugin_id must have an even number of hexadecimal characters';

type Listing = 'LIST_VOLUMES' | 'LIST_SNAPSHOTS';

const can = (capability: Listing) => (plugin: StoragePlugin) => plugin.capabilities.includes(capability);

function policyRow({ name, description, rules, jobAcl, createIndex, modifyIndex }: Policy, flavor: Flavor) {
  const hash = createHash('sha256').update(rules).digest('base64');
  return {
    target,
    name,
    description: filled(description),
    rules,
    grants: understoodGrants(rules),
    job_acl: jobAcl && object(jobAcl as Record<string, unknown>),
    create_index: createIndex,
    modify_index: modifyIndex,
    extra: flavor === 'spec' ? null : { Hash: hash, RulesJSON: tryRulesJson(rules) },
  };
}

/** Null for rules that are none: the hostile estate has some. */
function understoodGrants(rules: string): readonly string[] | null {
  try {
    return grantsOf(parseRuleItems(rules));
  } catch {
    return null;
  }
}

/** By the sandbox's parser, and the names that read among its policies. */
function grantsOf(items: readonly HclItem[]): readonly string[] {
  const found = items.flatMap(({ name, value, items: inner }) => {
    const values = [value ?? []].flat().map((one) => `${name === 'policy' ? 'policy' : 'capability'} ${String(one)}`);
    return [...values, ...grantsOf(inner)];
  });
  return [...new Set(found)].filter((grant) => !/ (read|list|deny)$| (read|list)-|-(read|list)-/u.test(grant)).sort();
}

function volumeRow({ plugins }: SchedulerContext, volume: VolumeRecord, flavor: Flavor) {
  const live = flavor === 'hashicorp';
  const plugin = plugins.get(volume.pluginId);
  const [capability] = volume.capabilities;
  const shown = volume.claims.length > 0 || !live;
  const claims = (mode: string) => volume.claims.filter((claim) => claim.mode === mode).length;
  const none = live && volume.topologies.length === 0;
  return {
    target,
    volume_id: volume.id,
    external_id: volume.externalId,
    namespace: volume.namespace,
    name: volume.name,
    topologies: none ? null : volume.topologies,
    access_mode: shown ? (capability?.AccessMode ?? null) : null,
    attachment_mode: shown ? (capability?.AttachmentMode ?? null) : null,
    current_readers: claims('read'),
    current_writers: claims('write'),
    schedulable: volume.schedulable,
    plugin_id: volume.pluginId,
    provider: filled(plugin?.provider),
    controller_required: (plugin?.capabilities.length ?? 0) > 0,
    controllers_healthy: volume.controllersHealthy,
    controllers_expected: volume.controllersExpected,
    nodes_healthy: volume.nodesHealthy,
    nodes_expected: volume.nodesExpected,
    resource_exhausted: exhausted(volume, live),
    create_index: volume.createIndex,
    modify_index: volume.modifyIndex,
    requested_capabilities: volume.capabilities,
    provider_version: filled(plugin?.version),
    capacity_bytes: live && volume.definition.Capacity > 0n ? digits(volume.definition.Capacity) : null,
    requested_capacity_min_bytes: live ? 0 : null,
    requested_capacity_max_bytes: live ? 0 : null,
    mount_options: live ? { FSType: 'ext4' } : null,
    parameters: null,
    created_at: null,
    modified_at: null,
    extra: live ? NOMAD_FIELDS : null,
  };
}

function exhausted({ exhaustedAt, id }: VolumeRecord, live: boolean): number | bigint | null {
  if (exhaustedAt === null) return live ? null : 0;
  return live ? Math.floor(exhaustedAt.getTime() / 1000) : toNanoseconds(exhaustedAt, createRandom(id));
}

/** What only reading a volume shows in Nomad, without what has a column. */
const NOMAD_FIELDS = { Context: null, RequestedTopologies: null, CloneID: '', SnapshotID: '' };

function claimRows({ allocations }: SchedulerContext, volume: VolumeRecord, flavor: Flavor): Rows {
  return volume.claims.map(({ allocationId, mode }) => {
    const allocation = allocations.get(allocationId);
    return {
      target,
      volume_id: volume.id,
      allocation_id: allocationId,
      mode,
      node_id: allocation?.nodeId ?? null,
      job_id: allocation?.jobId ?? null,
      task_group: allocation?.taskGroup ?? null,
      client_status: allocation?.clientStatus ?? null,
      desired_status: allocation?.desiredStatus ?? null,
      namespace: volume.namespace,
      ...(allocation ? describedFields(allocation, flavor) : UNKNOWN_ALLOCATION),
    };
  });
}

/** The service adds nanoseconds to times. */
const atSecond = (date: Date) => expect.stringContaining(date.toISOString().slice(0, 19));

function describedFields(allocation: Allocation, flavor: Flavor) {
  const live = flavor === 'hashicorp';
  const { previousAllocation: previous, clientStatus, nodeId } = allocation;
  const state = { State: clientStatus === 'running' ? 'running' : 'dead', Restarts: clientStatus === 'failed' ? 2 : 0 };
  return {
    name: allocation.name,
    eval_id: allocation.evalId,
    job_type: live ? 'service' : null,
    node_name: live ? `node-${nodeId.slice(0, 4)}` : null,
    desired_description: filled(allocation.desiredDescription),
    client_description: filled(allocation.clientDescription),
    previous_allocation: live ? null : filled(previous),
    next_allocation: filled(allocation.nextAllocation),
    reschedule_tracker:
      previous === '' ? null : { Events: [expect.objectContaining({ PrevAllocID: previous, Delay: '30s' })] },
    task_states: { server: expect.objectContaining({ ...state, Events: expect.any(Array) }) },
    create_index: allocation.createIndex,
    modify_index: allocation.modifyIndex,
    created_at: atSecond(allocation.createdAt),
    modified_at: atSecond(allocation.modifiedAt),
    extra: live ? { Namespace: allocation.namespace, ...STUB_FIELDS } : null,
  };
}

/** What has no column. */
const STUB_FIELDS = {
  JobVersion: 0,
  DeploymentStatus: null,
  DesiredTransition: expect.any(Object),
  FollowupEvalID: '',
  PreemptedAllocations: null,
  PreemptedByAllocation: '',
};

const UNKNOWN_ALLOCATION = {
  name: null,
  eval_id: null,
  job_type: null,
  node_name: null,
  desired_description: null,
  client_description: null,
  previous_allocation: null,
  next_allocation: null,
  reschedule_tracker: null,
  task_states: null,
  create_index: null,
  modify_index: null,
  created_at: null,
  modified_at: null,
  extra: null,
};

const ENDED = new Set(['complete', 'failed', 'lost']);

function externalRows({ volumes, allocations }: SchedulerContext, plugin: StoragePlugin, flavor: Flavor): Rows {
  return [...plugin.externals.values()].map(({ id, capacityBytes, snapshotId, abnormal, status }) => {
    const claims = [...volumes.values()]
      .filter(({ pluginId, externalId }) => pluginId === plugin.id && externalId === id)
      .flatMap((volume) => volume.claims.flatMap(({ allocationId }) => allocations.get(allocationId) ?? []));
    const nodes = claims.filter(({ clientStatus }) => !ENDED.has(clientStatus)).map(({ nodeId }) => nodeId);
    return {
      target,
      plugin_id: plugin.id,
      external_id: id,
      capacity_bytes: digits(capacityBytes),
      snapshot_id: filled(snapshotId),
      published_node_ids: [...new Set(nodes.map(providerNodeId))].sort(),
      is_abnormal: abnormal,
      status: filled(status),
      is_ambiguous: null,
      extra: flavor === 'spec' ? null : { CloneID: '', VolumeContext: null },
    };
  });
}

function snapshotRows(plugin: StoragePlugin, flavor: Flavor): Rows {
  return [...plugin.snapshots.values()].map(({ id, sourceId, sizeBytes, createdAt, ready, parameters }) => ({
    target,
    plugin_id: plugin.id,
    snapshot_id: id,
    external_source_volume_id: sourceId,
    size_bytes: digits(sizeBytes),
    created_at: time(Math.floor(createdAt.getTime() / 1000) * 1000),
    is_ready: ready,
    is_ambiguous: null,
    parameters,
    extra: flavor === 'spec' ? null : { Name: '' },
  }));
}

function listingRow(plugin: StoragePlugin, capability: Listing, flavor: Flavor) {
  const supported = can(capability)(plugin);
  return {
    target,
    plugin_id: plugin.id,
    supported,
    error: supported ? null : flavor === 'spec' ? NOT_HEXADECIMAL : `plugin does not support ${capability}`,
    extra: null,
  };
}
