import { z } from 'zod';
import { DAY_MS } from '../../core/clock.ts';
import { textAt } from '../../core/json-path.ts';
import { sha256 } from '../../core/sha256.ts';
import { defineAction, definePlaybook, drifted, ready, satisfied, skip, unknown } from '../define.ts';
import * as csi from './lib/csi.ts';
import { additionEvidence, responseBody, responseItems } from './lib/reads.ts';
import { findAdded } from './lib/undo.ts';

const inputs = csi.plannedVolume.extend({
  /** A ready snapshot taken at this time or later protects the volume. */
  protected_from: z.string(),
  /** A snapshot taken at this time or later that is not ready may still become ready. */
  under_way_from: z.string(),
  snapshot_name: z.string(),
  /** For the undo: a snapshot is created with the ID alone. */
  plugin_match: csi.pluginMatch,
});

const removeSnapshot = defineAction(csi.plannedExternal.extend({ snapshot_id: z.string() }), {
  operation: 'scheduler.snapshots.delete',
  params: { plugin_id: 'plugin_id', snapshot_id: 'snapshot_id' },
  reads: { snapshots: csi.readSnapshotsById, volumes: csi.readRegisteredVolumes },
  observe: ({ snapshots, volumes }, { snapshot_id, ...plugin }) => {
    const found = csi.findSnapshot(snapshots, snapshot_id);
    return found ? { source: found.source, longer_plugins: csi.findLongerPlugins(plugin, snapshots, volumes) } : null;
  },
  evaluate: (observed, { external_id, plugin_id }) => {
    if (observed === null) return satisfied('the snapshot is gone');
    if (observed.longer_plugins.length > 0)
      return drifted(csi.describeLongerPlugins(plugin_id, observed.longer_plugins));
    if (observed.source === null) return unknown('its volume is not reported');
    return observed.source === external_id ? ready : drifted('it is of another volume');
  },
});

const SOURCE_COLUMN = 'volume_snapshots.external_source_volume_id';

const createSnapshot = defineAction(inputs, {
  operation: 'scheduler.snapshots.create',
  params: { volume_id: 'volume_id', namespace: 'namespace' },
  body: ({ volume_id, plugin_id, snapshot_name }) => ({
    Snapshots: [{ SourceVolumeID: volume_id, PluginID: plugin_id, Name: snapshot_name }],
  }),
  change: ({ volume_id, external_id, plugin_id, snapshot_name }) => ({
    before: null,
    after: { snapshot: { name: snapshot_name, volume_id, external_id, plugin_id } },
  }),
  reads: {
    volume: csi.readVolume,
    external: csi.readExternalVolumes,
    snapshots: {
      ...csi.readSnapshots,
      mayBeUnlisted: true,
      absence: additionEvidence(['ExternalSourceVolumeID'], 'external_id', SOURCE_COLUMN, 'plugin_id'),
    },
  },
  observe: ({ volume, external, snapshots: taken }, { plugin_id, external_id, protected_from }) => {
    if (!volume.found) return null;
    // A listing may have snapshots of a plugin whose ID begins with this one's: docs/services/scheduler.md#prefixes.
    const recent = responseItems(taken)
      .map(csi.parseSnapshot)
      .filter(({ source, plugin }) => (source ?? external_id) === external_id && (plugin ?? plugin_id) === plugin_id)
      .filter(({ created_at }) => created_at === null || created_at >= protected_from)
      .map(({ snapshot_id, created_at, is_ready, source }) => ({
        snapshot_id,
        created_at,
        is_ready: source === null ? null : is_ready,
      }));
    return {
      ...csi.parseVolume(responseBody(volume)),
      in_provider: csi.isListed(external, external_id),
      recent_snapshots: taken.found ? recent : null,
    };
  },
  evaluate: (observed, planned) => {
    if (observed === null) return drifted('the volume is no longer registered');
    const other = csi.explainOtherVolume(observed, planned);
    if (other) return other;
    const recent = observed.recent_snapshots;
    if (recent === null) return unknown('its snapshots are not reported');
    const complete = recent.find(({ is_ready, created_at }) => is_ready === true && created_at !== null);
    if (complete) return satisfied(`snapshot ${complete.snapshot_id} of ${complete.created_at} protects it`);
    const unsure = recent.find(({ is_ready, created_at }) => is_ready === null || (is_ready && created_at === null));
    if (unsure) return unknown(`whether snapshot ${unsure.snapshot_id} protects it is not reported`);
    const pending = recent.find(({ created_at }) => created_at !== null && created_at >= planned.under_way_from);
    if (pending) return drifted(`snapshot ${pending.snapshot_id} of ${pending.created_at} is not ready yet`);
    return observed.in_provider === false ? drifted('the volume is not in the provider') : ready;
  },
  // A new snapshot may not be ready yet. Without a response, it is the one that was not there before the call.
  isConfirmed: (observed, { under_way_from }, response) => {
    const id = textAt(response, 'Snapshots', 0, 'ID');
    const recent = observed?.recent_snapshots ?? [];
    if (id !== null) return recent.some(({ snapshot_id }) => snapshot_id === id);
    return recent.some((one) => one.is_ready !== null && one.created_at !== null && one.created_at >= under_way_from);
  },
  undo: {
    action: removeSnapshot,
    needs: ['before.recent_snapshots', 'after.recent_snapshots'],
    inputs: ({ inputs: { plugin_id, plugin_match, external_id }, before, after, isAnswered }) => {
      const created = findAdded(before?.recent_snapshots ?? null, after?.recent_snapshots ?? null, 'snapshot_id');
      if (!created || !isAnswered) return 'the ledger does not show which snapshot was created';
      return { plugin_id, plugin_match, external_id, snapshot_id: created.snapshot_id };
    },
    summary: ({ inputs: { volume_id } }) => `delete the snapshot that was created of volume ${volume_id}`,
  },
});

/**
 * Storage plugins treat a known name as the same snapshot, so the name allows one per day and volume. Some make the name of their provider
 * of it, which has 63 letters, digits and `-`, and cut what is longer: of an ID that is a path the end tells more.
 */
function describeExternalId(id: string): string {
  if (/^[a-z0-9-]{1,40}$/u.test(id)) return id;
  const plain = id.toLowerCase().replaceAll(/[^a-z0-9]+/gu, '-');
  return `${plain.slice(-30)}-${sha256(id).slice(0, 8)}`;
}

export const snapshotUnprotectedVolumes = definePlaybook({
  name: 'snapshot-unprotected-volumes',
  rule: 'unprotected-volume',
  description: 'create a snapshot of volumes that have no ready snapshot within `snapshotDays`',
  table: 'volumes',
  actions: [createSnapshot],
  detail: csi.plannedVolume.extend({ last_snapshot_at: z.string().nullable() }),
  plan: async ({ subject_name, detail: { last_snapshot_at, ...planned } }, ctx) => {
    const { plugin_id, external_id, volume_id } = planned;
    const missing = await ctx.query('missing_external', { plugin_id, external_id });
    if (missing.length > 0) return skip(`plugin ${plugin_id} does not have ${external_id}`);
    const daysAgo = (days: number) => new Date(ctx.now.getTime() - days * DAY_MS).toISOString();
    const inputs = {
      ...planned,
      protected_from: daysAgo(ctx.thresholds.snapshotDays),
      under_way_from: daysAgo(1),
      snapshot_name: `tidemark-${ctx.now.toISOString().slice(0, 10)}-${describeExternalId(external_id)}`,
      plugin_match: csi.choosePluginMatch(ctx.target),
    };
    const last = last_snapshot_at === null ? 'which has none' : `whose last one is of ${last_snapshot_at.slice(0, 10)}`;
    const summary = `create a snapshot of volume ${subject_name ?? volume_id}, ${last}`;
    return [{ action: createSnapshot, inputs, summary }];
  },
});
