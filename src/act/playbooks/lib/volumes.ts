import { z } from 'zod';
import type { Target } from '../../../config/config.ts';
import type { ReadResult } from '../../define.ts';
import { listAt, responseItems, textAt, valueAt } from './json-path.ts';

/**
 * The namespace to name in requests about a volume: null for `default`, which the service uses by itself, since the documented
 * requests that read, deregister and detach a volume have no such parameter.
 */
export const requestedNamespace = z
  .string()
  .nullable()
  .transform((namespace) => (namespace === 'default' ? null : namespace));

/**
 * How the service reads a plugin ID: the real product takes it as it is; in the API documents it is a prefix, which other plugins
 * may begin with as well (docs/services/scheduler.md#prefixes).
 */
export const pluginMatch = z.enum(['exact', 'prefix']).default('prefix');

export function choosePluginMatch({ flavor }: Target): z.infer<typeof pluginMatch> {
  return flavor === 'hashicorp' ? 'exact' : 'prefix';
}

/** The plugins of registered volumes and of snapshots whose ID begins with another plugin's: a request for that one may hit them. */
export function findLongerPlugins(
  { plugin_id, plugin_match }: { readonly plugin_id: string; readonly plugin_match: z.infer<typeof pluginMatch> },
  ...lists: readonly ReadResult[]
): readonly string[] {
  if (plugin_match === 'exact') return [];
  const ids = lists.flatMap(responseItems).flatMap((item) => textAt(item, 'PluginID') ?? []);
  return [...new Set(ids)].filter((id) => id !== plugin_id && id.startsWith(plugin_id)).sort();
}

/** The reason not to act where the plugin is not certain. */
export function describeLongerPlugins(pluginId: string, longer: readonly string[]): string {
  return `the service takes ${pluginId} as a prefix, which may also mean ${longer.join(', ')}`;
}

/** Whether the plugin lists an external volume. */
export function isListed(externalVolumes: ReadResult, externalId: string): boolean {
  return responseItems(externalVolumes).some((item) => textAt(item, 'ExternalID') === externalId);
}

/** IDs of the volumes that are registered for an external one. */
export function registeredIds(volumes: ReadResult, pluginId: string, externalId: string): readonly string[] {
  return responseItems(volumes)
    .filter((item) => textAt(item, 'PluginID') === pluginId && textAt(item, 'ExternalID') === externalId)
    .flatMap((item) => textAt(item, 'ID') ?? []);
}

/**
 * A time as ISO 8601. The specification names no unit, and the real product sends seconds (docs/services/scheduler.md#snapshots), so
 * the unit follows from the size of the number.
 */
export function parseSnapshotTime(count: unknown): string | null {
  if (typeof count !== 'number' && typeof count !== 'bigint') return null;
  const value = Number(count);
  if (value <= 0) return null;
  const ms = value >= 1e17 ? value / 1e6 : value >= 1e14 ? value / 1e3 : value >= 1e11 ? value : value * 1e3;
  return new Date(Math.floor(ms)).toISOString();
}

/** One allocation's claim on a volume. Null where the scheduler no longer knows the allocation. */
export type VolumeClaim = {
  readonly allocation_id: string;
  readonly node_id: string | null;
  readonly client_status: string | null;
};

const TERMINAL_STATUSES = ['complete', 'failed', 'lost'];

/** The claims in the response that describes a volume; null where it has neither claim map. */
export function parseClaims(volume: unknown): readonly VolumeClaim[] | null {
  const maps = ['ReadAllocs', 'WriteAllocs'].map((name) => valueAt(volume, name));
  if (maps.every((map) => map === undefined)) return null;
  const listed = new Map((listAt(volume, 'Allocations') ?? []).map((item) => [textAt(item, 'ID'), item]));
  const claims = new Map<string, VolumeClaim>();
  for (const [id, inline] of maps.flatMap((map) => Object.entries(map ?? {}))) {
    const allocation = inline ?? listed.get(id);
    claims.set(id, {
      allocation_id: id,
      node_id: textAt(allocation, 'NodeID'),
      client_status: textAt(allocation, 'ClientStatus'),
    });
  }
  return [...claims.values()];
}

export function isTerminal({ client_status }: VolumeClaim): boolean {
  return client_status !== null && TERMINAL_STATUSES.includes(client_status);
}
