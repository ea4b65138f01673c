import { z } from 'zod';
import { DAY_MS } from '../core/duration.ts';
import { defineAction, definePlaybook, drifted, ready, satisfied, skip } from '../remediation/define.ts';
import { booleanAt, responseBody, responseItems, textAt, valueAt } from './lib/json-path.ts';
import { isListed, parseSnapshotTime, readExternalVolumes, readSnapshots, requestedNamespace } from './lib/volumes.ts';

const detail = z.object({
  volume_id: z.string(),
  namespace: requestedNamespace,
  plugin_id: z.string(),
  external_id: z.string(),
  last_snapshot_at: z.string().nullable(),
});
const inputs = detail.omit({ last_snapshot_at: true }).extend({
  /** A ready snapshot taken at this time or later protects the volume. */
  protected_from: z.string(),
  /** A snapshot taken at this time or later that is not ready may still become ready. */
  under_way_from: z.string(),
  snapshot_name: z.string(),
});

function findRecent(snapshots: readonly unknown[], externalId: string, from: string) {
  return snapshots
    .filter((item) => textAt(item, 'ExternalSourceVolumeID') === externalId)
    .map((item) => ({
      snapshot_id: textAt(item, 'ID'),
      created_at: parseSnapshotTime(valueAt(item, 'CreateTime')),
      is_ready: booleanAt(item, 'IsReady'),
    }))
    .filter(({ created_at }) => created_at !== null && created_at >= from);
}

const createSnapshot = defineAction(inputs, {
  operation: 'scheduler.snapshots.create',
  params: { volume_id: 'volume_id', namespace: 'namespace' },
  body: ({ volume_id, plugin_id, snapshot_name }) => ({
    Snapshots: [{ SourceVolumeID: volume_id, PluginID: plugin_id, Name: snapshot_name }],
  }),
  reads: {
    volume: { operation: 'scheduler.volumes.read', params: { volume_id: 'volume_id', namespace: 'namespace' } },
    external: readExternalVolumes,
    snapshots: readSnapshots,
  },
  observe: ({ volume, external, snapshots: taken }, { external_id, protected_from }) =>
    volume.found
      ? {
          external_id: textAt(responseBody(volume), 'ExternalID'),
          in_provider: external.found ? isListed(external, external_id) : null,
          recent_snapshots: taken.found ? findRecent(responseItems(taken), external_id, protected_from) : null,
        }
      : null,
  evaluate: (observed, { external_id, under_way_from }) => {
    if (observed === null) return drifted('the volume is no longer registered');
    if (observed.external_id !== external_id) {
      return drifted(`its external volume is ${observed.external_id ?? 'none'} now`);
    }
    const recent = observed.recent_snapshots;
    if (recent === null) return drifted('its snapshots are not reported');
    const complete = recent.find(({ is_ready }) => is_ready === true);
    if (complete) return satisfied(`snapshot ${complete.snapshot_id} of ${complete.created_at} protects it`);
    const pending = recent.find(({ created_at }) => created_at !== null && created_at >= under_way_from);
    if (pending) return drifted(`snapshot ${pending.snapshot_id} of ${pending.created_at} is not ready yet`);
    return observed.in_provider === false ? drifted('the volume is not in the provider') : ready;
  },
  // A new snapshot may not be ready yet.
  isConfirmed: (observed, _inputs, response) => {
    const id = textAt(response, 'Snapshots', 0, 'ID');
    return observed?.recent_snapshots?.some(({ snapshot_id }) => snapshot_id === id) ?? false;
  },
  notVerifiable: true,
});

export const snapshotUnprotectedVolumes = definePlaybook({
  name: 'snapshot-unprotected-volumes',
  rule: 'unprotected-volume',
  description: 'create a snapshot of volumes that have no ready snapshot within `snapshotDays`',
  table: 'volumes',
  actions: [createSnapshot],
  detail,
  plan: async ({ subject_name, detail: { last_snapshot_at, ...volume } }, ctx) => {
    const missing = await ctx.query('missing_external', {
      plugin_id: volume.plugin_id,
      external_id: volume.external_id,
    });
    if (missing.length > 0) return skip(`plugin ${volume.plugin_id} does not have ${volume.external_id}`);
    const daysAgo = (days: number) => new Date(ctx.now.getTime() - days * DAY_MS).toISOString();
    const last = last_snapshot_at === null ? 'which has none' : `whose last one is of ${last_snapshot_at.slice(0, 10)}`;
    return [
      {
        action: createSnapshot,
        inputs: {
          ...volume,
          protected_from: daysAgo(ctx.thresholds.snapshotDays),
          under_way_from: daysAgo(1),
          // Storage plugins treat a known name as the same snapshot, so the name allows one per day and volume.
          snapshot_name: `tidemark-${ctx.now.toISOString().slice(0, 10)}-${volume.external_id}`,
        },
        summary: `create a snapshot of volume ${subject_name ?? volume.volume_id}, ${last}`,
      },
    ];
  },
});
