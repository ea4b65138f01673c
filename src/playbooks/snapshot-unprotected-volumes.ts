import { z } from 'zod';
import { at, bodyOf, booleanAt, itemsOf, textAt } from './answers.ts';
import { askedNamespace } from './namespace.ts';
import { playbook, skip } from './playbook.ts';
import { step } from './step.ts';
import { externalVolumes, holds, snapshots, timeOf } from './storage-listings.ts';
import { changed, done, due } from './verdict.ts';

const DAY_MS = 86_400_000;

const detail = z.object({
  volume_id: z.string(),
  namespace: askedNamespace,
  plugin_id: z.string(),
  external_id: z.string(),
  last_snapshot_at: z.string().nullable(),
});
const facts = detail.omit({ last_snapshot_at: true }).extend({
  /** A ready snapshot from then on protects the volume. */
  protected_from: z.string(),
  /** One from then on that is not ready may still become so. */
  under_way_from: z.string(),
  snapshot_name: z.string(),
});

function recentIn(snapshots: readonly unknown[], externalId: string, from: string) {
  return snapshots
    .filter((item) => textAt(item, 'ExternalSourceVolumeID') === externalId)
    .map((item) => ({
      snapshot_id: textAt(item, 'ID'),
      created_at: timeOf(at(item, 'CreateTime')),
      is_ready: booleanAt(item, 'IsReady'),
    }))
    .filter(({ created_at }) => created_at !== null && created_at >= from);
}

const snapshot = step(facts, {
  operation: 'scheduler.snapshots.create',
  params: { volume_id: 'volume_id', namespace: 'namespace' },
  body: ({ volume_id, plugin_id, snapshot_name }) => ({
    Snapshots: [{ SourceVolumeID: volume_id, PluginID: plugin_id, Name: snapshot_name }],
  }),
  reads: {
    volume: { operation: 'scheduler.volumes.read', params: { volume_id: 'volume_id', namespace: 'namespace' } },
    external: externalVolumes,
    snapshots,
  },
  see: ({ volume, external, snapshots: taken }, { external_id, protected_from }) =>
    volume.found
      ? {
          external_id: textAt(bodyOf(volume), 'ExternalID'),
          in_provider: external.found ? holds(external, external_id) : null,
          recent_snapshots: taken.found ? recentIn(itemsOf(taken), external_id, protected_from) : null,
        }
      : null,
  judge: (seen, { external_id, under_way_from }) => {
    if (seen === null) return changed('the volume is not registered any more');
    if (seen.external_id !== external_id) return changed(`it stands for ${seen.external_id ?? 'nothing'} now`);
    if (seen.recent_snapshots === null) return changed('its snapshots are not told');
    const ready = seen.recent_snapshots.find(({ is_ready }) => is_ready === true);
    if (ready) return done(`snapshot ${ready.snapshot_id} of ${ready.created_at} protects it`);
    const made = seen.recent_snapshots.find(({ created_at }) => created_at !== null && created_at >= under_way_from);
    if (made) return changed(`snapshot ${made.snapshot_id} of ${made.created_at} is not ready yet`);
    return seen.in_provider === false ? changed('the provider does not hold the volume') : due;
  },
  // A new one may not be ready yet.
  achieved: (seen, _facts, answer) => {
    const id = textAt(answer, 'Snapshots', 0, 'ID');
    return seen?.recent_snapshots?.some(({ snapshot_id }) => snapshot_id === id) ?? false;
  },
  unknowable: true,
});

export const snapshotUnprotectedVolumes = playbook({
  name: 'snapshot-unprotected-volumes',
  rule: 'unprotected-volume',
  about: 'make a snapshot of volumes without a recent one that is ready',
  table: 'volumes',
  steps: [snapshot],
  detail,
  plan: async ({ subject_name, detail: { last_snapshot_at, ...volume } }, desk) => {
    const missing = await desk.rows('missing_external', {
      plugin_id: volume.plugin_id,
      external_id: volume.external_id,
    });
    if (missing.length > 0) return skip(`plugin ${volume.plugin_id} does not hold ${volume.external_id}`);
    const daysAgo = (days: number) => new Date(desk.now.getTime() - days * DAY_MS).toISOString();
    const protectedFrom = daysAgo(desk.thresholds.snapshotDays);
    const since = last_snapshot_at === null ? 'which has none' : `whose last is of ${last_snapshot_at.slice(0, 10)}`;
    // Storage plugins take a name that they know for the same snapshot: one a day and volume.
    const name = `tidemark-${desk.now.toISOString().slice(0, 10)}-${volume.external_id}`;
    return [
      {
        step: snapshot,
        facts: { ...volume, protected_from: protectedFrom, under_way_from: daysAgo(1), snapshot_name: name },
        summary: `make a snapshot of volume ${subject_name ?? volume.volume_id}, ${since}`,
      },
    ];
  },
});
