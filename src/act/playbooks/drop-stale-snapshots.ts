import { z } from 'zod';
import { defineAction, definePlaybook, drifted, ready, satisfied } from '../define.ts';
import { responseItems, textAt, valueAt } from './lib/json-path.ts';
import { readExternalVolumes, readRegisteredVolumes, readSnapshots, snapshotAbsence } from './lib/reads.ts';
import {
  choosePluginMatch,
  describeLongerPlugins,
  findLongerPlugins,
  isListed,
  parseSnapshotTime,
  pluginMatch,
  registeredIds,
} from './lib/volumes.ts';

const detail = z.object({
  plugin_id: z.string(),
  snapshot_id: z.string(),
  /** The external volume that it was taken of. */
  external_id: z.string().nullable(),
  created_at: z.string().nullable(),
  reason: z.enum(['old', 'volume gone']),
});

const inputs = detail.extend({ plugin_match: pluginMatch });

const drop = defineAction(inputs, {
  operation: 'scheduler.snapshots.delete',
  params: { plugin_id: 'plugin_id', snapshot_id: 'snapshot_id' },
  change: ({ plugin_id, snapshot_id, external_id, created_at }) => ({
    before: { plugin_id, snapshot_id, external_id, created_at },
    after: null,
  }),
  reads: {
    snapshots: { ...readSnapshots, absence: snapshotAbsence },
    external: readExternalVolumes,
    volumes: readRegisteredVolumes,
  },
  observe: ({ snapshots: taken, external, volumes }, { plugin_id, plugin_match, snapshot_id, external_id }) => {
    const longerPlugins = findLongerPlugins({ plugin_id, plugin_match }, taken, volumes);
    const found = responseItems(taken).find((item) => textAt(item, 'ID') === snapshot_id);
    if (found === undefined) return { listed: taken.found, longer_plugins: longerPlugins, snapshot: null };
    const hasSource = external_id !== null;
    return {
      listed: true,
      longer_plugins: longerPlugins,
      snapshot: {
        plugin: textAt(found, 'PluginID'),
        created_at: parseSnapshotTime(valueAt(found, 'CreateTime')),
        source: textAt(found, 'ExternalSourceVolumeID'),
        source_in_provider: hasSource && external.found ? isListed(external, external_id) : null,
        source_registered:
          hasSource && volumes.found ? registeredIds(volumes, plugin_id, external_id).length > 0 : null,
      },
    };
  },
  evaluate: ({ listed, longer_plugins, snapshot }, { plugin_id, external_id, created_at, reason }) => {
    if (snapshot === null) {
      return listed ? satisfied('the snapshot is gone') : drifted('the plugin does not list its snapshots');
    }
    if (longer_plugins.length > 0) return drifted(describeLongerPlugins(plugin_id, longer_plugins));
    if ((snapshot.plugin ?? plugin_id) !== plugin_id) return drifted(`it is a snapshot of plugin ${snapshot.plugin}`);
    if (snapshot.source !== external_id) return drifted('it is of another volume');
    if (reason === 'old') {
      return snapshot.created_at !== null && Date.parse(snapshot.created_at) === Date.parse(created_at ?? '')
        ? ready
        : drifted(`it was taken at ${snapshot.created_at ?? 'an unknown time'}`);
    }
    const isSourceGone = snapshot.source_in_provider === false && snapshot.source_registered === false;
    return isSourceGone ? ready : drifted('its volume exists, or that is not reported');
  },
});

export const dropStaleSnapshots = definePlaybook({
  name: 'drop-stale-snapshots',
  rule: 'stale-snapshot',
  description: 'delete snapshots that are old or whose volume is gone',
  table: 'volume_snapshots',
  detail,
  actions: [drop],
  plan: ({ detail: snapshot }, { target }) => [
    {
      action: drop,
      inputs: { ...snapshot, plugin_match: choosePluginMatch(target) },
      summary: summarize(snapshot),
    },
  ],
});

function summarize({ snapshot_id, plugin_id, created_at, reason }: z.infer<typeof detail>): string {
  const why = reason === 'old' ? `taken on ${created_at?.slice(0, 10)}` : 'whose volume is gone';
  return `delete snapshot ${snapshot_id} of plugin ${plugin_id}, ${why}`;
}
