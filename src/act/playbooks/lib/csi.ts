import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Target } from '../../../config/config.ts';
import { readTime } from '../../../core/clock.ts';
import { groupBy } from '../../../core/group-by.ts';
import { booleanAt, listAt, textAt, valueAt } from '../../../core/json-path.ts';
import { drifted, type Precondition, type ReadResult, ready, satisfied, unknown } from '../../define.ts';
import { evidence, readPages, readSubject, responseBody, responseItems } from './reads.ts';

const CSI = { type: { is: 'csi' } };

export const readVolume = readSubject(
  'scheduler.volumes.read',
  { volume_id: 'volume_id', namespace: 'namespace' },
  'volumes.volume_id',
  { of: CSI, id: 'ID' },
);

const volumeEvidence = evidence(['ExternalID'], 'external_id', 'volumes.external_id');

/**
 * Every registered volume. It lacks one for an external volume that is not registered. One without an external ID may be any of its
 * plugin, and none of another.
 */
export const readRegisteredVolumes = readPages('scheduler.volumes.list', CSI, {
  ...volumeEvidence,
  listIds: (volumes, inputs) => {
    const mayBe = (plugin: string | null) => plugin === null || String(inputs.plugin_id).startsWith(plugin);
    const told = (listAt(volumes) ?? []).filter(
      (item) => textAt(item, 'ExternalID') ?? mayBe(textAt(item, 'PluginID')),
    );
    return volumeEvidence.listIds(told, inputs);
  },
});

export const readExternalVolumes = {
  ...readPages(
    'scheduler.external-volumes.list',
    { plugin_id: 'plugin_id' },
    evidence(['ExternalID'], 'external_id', 'external_volumes.external_id', 'plugin_id'),
  ),
  mayBeUnlisted: true,
} as const;

export const readSnapshots = readPages('scheduler.snapshots.list', { plugin_id: 'plugin_id' });

/** A list of snapshots that lacks one of the ID. */
export const readSnapshotsById = {
  ...readSnapshots,
  absence: evidence(['ID'], 'snapshot_id', 'volume_snapshots.snapshot_id', 'plugin_id'),
};

/**
 * The namespace to name in requests about a volume: null for `default`, which the service uses by itself, since the documented
 * requests that read, deregister and detach a volume have no such parameter.
 */
export const requestedNamespace = z
  .string()
  .nullable()
  .transform((namespace) => (namespace === 'default' ? null : namespace));

/** What tells a registered volume from another one. */
export const plannedVolume = z.object({
  volume_id: z.string(),
  namespace: requestedNamespace,
  plugin_id: z.string(),
  external_id: z.string(),
});

/**
 * How the service reads a plugin ID: the real product takes it as it is; in the API documents it is a prefix, which other plugins
 * may begin with as well (docs/services/scheduler.md#prefixes).
 */
export const pluginMatch = z.enum(['exact', 'prefix']).default('prefix');

/** What tells an external volume from another one. */
export const plannedExternal = z.object({ plugin_id: z.string(), plugin_match: pluginMatch, external_id: z.string() });

interface MatchedPlugin {
  readonly plugin_id: string;
  readonly plugin_match: z.infer<typeof pluginMatch>;
}

export function choosePluginMatch({ flavor }: Target): MatchedPlugin['plugin_match'] {
  return flavor === 'hashicorp' ? 'exact' : 'prefix';
}

/** The plugins of registered volumes and of snapshots whose ID begins with another plugin's: a request for that one may hit them. */
export function findLongerPlugins({ plugin_id, plugin_match }: MatchedPlugin, ...lists: readonly ReadResult[]) {
  if (plugin_match === 'exact') return [];
  const ids = lists.flatMap(responseItems).flatMap((item) => {
    const id = valueAt(item, 'PluginID') ?? '';
    return typeof id === 'string' ? id : `${plugin_id}…`; // one that cannot be read may begin so
  });
  return [...new Set(ids)].filter((id) => id !== plugin_id && id.startsWith(plugin_id)).sort();
}

/** The reason not to act where the plugin is not certain. */
export function describeLongerPlugins(pluginId: string, longer: readonly string[]): string {
  return `the service takes ${pluginId} as a prefix, which may also mean ${longer.join(', ')}`;
}

/** Whether the plugin lists an external volume; null where its volumes are not reported. */
export function isListed(externalVolumes: ReadResult, externalId: string): boolean | null {
  if (!externalVolumes.found) return null;
  return responseItems(externalVolumes).some((item) => textAt(item, 'ExternalID') === externalId);
}

/** IDs of the volumes that are registered for an external one; null where the volumes, or what tells them apart, are not reported. */
export function registeredIds(volumes: ReadResult, pluginId: string, externalId: string): readonly string[] | null {
  if (!volumes.found) return null;
  const named = responseItems(volumes).filter((item) => textAt(item, 'ExternalID') === externalId);
  const ids = named
    .filter((item) => (textAt(item, 'PluginID') ?? pluginId) === pluginId)
    .map((item) => textAt(item, 'PluginID') && textAt(item, 'ID'));
  return ids.every((id) => id !== null) ? ids : null;
}

/** The snapshot of an ID in the list of a plugin. Of one that is listed twice, and not the same, its volume and time are unknown. */
export function findSnapshot(list: ReadResult, id: string) {
  const [first, ...others] = responseItems(list)
    .map(parseSnapshot)
    .filter(({ snapshot_id }) => snapshot_id === id);
  const isKnown = others.every((other) => isDeepStrictEqual(other, first));
  return first && (isKnown ? first : { ...first, source: null, created_at: null, is_ready: null });
}

export function parseSnapshot(item: unknown) {
  return {
    snapshot_id: textAt(item, 'ID'),
    plugin: textAt(item, 'PluginID'),
    source: textAt(item, 'ExternalSourceVolumeID'),
    created_at: readTime(valueAt(item, 'CreateTime'))?.toISOString() ?? null,
    is_ready: booleanAt(item, 'IsReady'),
  };
}

/** What a registered volume stands for, each null where it is not reported. */
export function parseVolume(volume: unknown) {
  return { external_id: textAt(volume, 'ExternalID'), plugin_id: textAt(volume, 'PluginID') };
}

/** A registered volume, as the ledger keeps it; null where it is not registered. `claims`: how many. */
export function observeVolume(volume: ReadResult) {
  const body = responseBody(volume);
  return volume.found ? { ...parseVolume(body), claims: parseClaims(body)?.length ?? null } : null;
}

type Planned = Readonly<{ external_id: string; plugin_id: string | null }>;

/**
 * Why a registered volume is not certainly the planned one; undefined where it is. A volume of the ID may have been registered again,
 * for the volume of another plugin, which may have the same external ID. `plugin_id` is null in a plan that lacks it.
 */
export function explainOtherVolume(observed: ReturnType<typeof parseVolume>, planned: Planned) {
  const { external_id, plugin_id } = observed;
  if (external_id === null) return unknown('its external volume is not reported');
  if (external_id !== planned.external_id) return drifted(`its external volume is ${external_id} now`);
  if (planned.plugin_id === null) return undefined;
  if (plugin_id === null) return unknown('its plugin is not reported');
  return plugin_id === planned.plugin_id ? undefined : drifted(`its plugin is ${plugin_id} now`);
}

export function evaluateDeregistration(observed: ReturnType<typeof observeVolume>, planned: Planned): Precondition {
  if (observed === null) return satisfied('the volume is not registered');
  const other = explainOtherVolume(observed, planned);
  if (other) return other;
  if (observed.claims === null) return unknown('its claims are not reported');
  return observed.claims === 0 ? ready : drifted('it is claimed');
}

/**
 * The claims of allocations in the response that describes a volume; null where it lacks one of the claim maps. Node and status are null where
 * the scheduler no longer knows the allocation, describes it twice and not the same, without its node, or describes another one.
 */
export function parseClaims(volume: unknown) {
  const maps = ['ReadAllocs', 'WriteAllocs'].map((name) => valueAt(volume, name));
  if (maps.includes(undefined)) return null;
  const listed = groupBy(listAt(volume, 'Allocations') ?? [], (item) => textAt(item, 'ID'));
  const claims = groupBy(
    maps.flatMap((map) => Object.entries(map ?? {})),
    ([id]) => id,
  );
  return [...claims].map(([id, entries]) => {
    const inline: unknown[] = entries.flatMap(([, value]) => value ?? []);
    const [first, ...others] = inline.length > 0 ? inline : (listed.get(id) ?? []);
    const isOne = textAt(first, 'ID') === id && others.every((other) => isDeepStrictEqual(other, first));
    const nodeId = isOne ? textAt(first, 'NodeID') : null;
    return { allocation_id: id, node_id: nodeId, client_status: nodeId && textAt(first, 'ClientStatus') };
  });
}
