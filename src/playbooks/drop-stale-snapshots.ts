import { z } from 'zod';
import { at, itemsOf, textAt } from './answers.ts';
import { simplePlaybook } from './playbook.ts';
import { step } from './step.ts';
import { externalVolumes, holds, registeredAs, registeredVolumes, snapshots, timeOf } from './storage-listings.ts';
import { changed, done, due } from './verdict.ts';

const facts = z.object({
  plugin_id: z.string(),
  snapshot_id: z.string(),
  /** The volume it was taken of. */
  external_id: z.string().nullable(),
  created_at: z.string().nullable(),
  reason: z.enum(['old', 'volume gone']),
});

const drop = step(facts, {
  operation: 'scheduler.snapshots.delete',
  params: { plugin_id: 'plugin_id', snapshot_id: 'snapshot_id' },
  reads: { snapshots, external: externalVolumes, volumes: registeredVolumes },
  see: ({ snapshots: taken, external, volumes }, { plugin_id, snapshot_id, external_id }) => {
    const found = itemsOf(taken).find((item) => textAt(item, 'ID') === snapshot_id);
    return found === undefined
      ? { listed: taken.found, snapshot: null }
      : {
          listed: true,
          snapshot: {
            created_at: timeOf(at(found, 'CreateTime')),
            source: textAt(found, 'ExternalSourceVolumeID'),
            source_in_provider: external_id !== null && external.found ? holds(external, external_id) : null,
            source_registered:
              external_id !== null && volumes.found ? registeredAs(volumes, plugin_id, external_id).length > 0 : null,
          },
        };
  },
  judge: ({ listed, snapshot }, { external_id, created_at, reason }) => {
    if (snapshot === null)
      return listed ? done('the snapshot is gone') : changed('the plugin does not list its snapshots');
    if (snapshot.source !== external_id) return changed('it is of another volume');
    if (reason === 'old') {
      return snapshot.created_at !== null && Date.parse(snapshot.created_at) === Date.parse(created_at ?? '')
        ? due
        : changed(`it was taken at ${snapshot.created_at ?? 'a time that is not told'}`);
    }
    const gone = snapshot.source_in_provider === false && snapshot.source_registered === false;
    return gone ? due : changed('its volume is there, or that is not told');
  },
});

export const dropStaleSnapshots = simplePlaybook({
  name: 'drop-stale-snapshots',
  rule: 'stale-snapshot',
  about: 'delete snapshots that are old, or whose volume is gone',
  table: 'volume_snapshots',
  detail: facts,
  step: drop,
  summary: ({ detail: { snapshot_id, plugin_id, created_at, reason } }) =>
    `delete snapshot ${snapshot_id} of plugin ${plugin_id}${reason === 'old' ? `, taken on ${created_at?.slice(0, 10)}` : ', whose volume is gone'}`,
});
