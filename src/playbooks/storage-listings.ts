import { itemsOf, textAt } from './answers.ts';
import type { Answer, Read } from './step.ts';

/** Items a page, which the document requires (scheduler-autoscaler-mesh.md, "Volumes", rule 2). */
export const PER_PAGE = 100;

/** What the storage provider holds, by the fact `plugin_id`. */
export const externalVolumes: Read = {
  operation: 'scheduler.external-volumes.list',
  params: { plugin_id: 'plugin_id', per_page: { is: PER_PAGE } },
  whole: true,
};

/** Its snapshots, by the fact `plugin_id`. */
export const snapshots: Read = {
  operation: 'scheduler.snapshots.list',
  params: { plugin_id: 'plugin_id', per_page: { is: PER_PAGE } },
  whole: true,
};

/** Every registered volume. */
export const registeredVolumes: Read = {
  operation: 'scheduler.volumes.list',
  params: { type: { is: 'csi' } },
  whole: true,
};

/** Whether a plugin's listing shows a volume. */
export function holds(listing: Answer, externalId: string): boolean {
  return itemsOf(listing).some((item) => textAt(item, 'ExternalID') === externalId);
}

/** IDs of the registered volumes that stand for an external one. */
export function registeredAs(listing: Answer, pluginId: string, externalId: string): readonly string[] {
  return itemsOf(listing)
    .filter((item) => textAt(item, 'PluginID') === pluginId && textAt(item, 'ExternalID') === externalId)
    .flatMap((item) => textAt(item, 'ID') ?? []);
}

/** Seconds since 1970 of the live service, or finer units by the number's size (live-services.md C3), as ISO 8601. */
export function timeOf(count: unknown): string | null {
  if (typeof count !== 'number' && typeof count !== 'bigint') return null;
  const value = Number(count);
  if (value <= 0) return null;
  const ms = value >= 1e17 ? value / 1e6 : value >= 1e14 ? value / 1e3 : value >= 1e11 ? value : value * 1e3;
  return new Date(Math.floor(ms)).toISOString();
}
