import { z } from 'zod';
import { defineAction, definePlaybook, drifted, ready, satisfied, unknown } from '../define.ts';
import * as csi from './lib/csi.ts';

const detail = z.object({
  plugin_id: z.string(),
  snapshot_id: z.string(),
  /** The external volume that it was taken of. */
  external_id: z.string().nullable(),
  created_at: z.string().nullable(),
  reason: z.enum(['old', 'volume gone']),
});

const drop = defineAction(detail.extend({ plugin_match: csi.pluginMatch }), {
  operation: 'scheduler.snapshots.delete',
  params: { plugin_id: 'plugin_id', snapshot_id: 'snapshot_id' },
  reads: {
    snapshots: { ...csi.readSnapshotsById, mayBeUnlisted: true },
    external: csi.readExternalVolumes,
    volumes: csi.readRegisteredVolumes,
  },
  observe: ({ snapshots: taken, external, volumes }, { plugin_id, plugin_match, snapshot_id, external_id }) => {
    const longerPlugins = csi.findLongerPlugins({ plugin_id, plugin_match }, taken, volumes);
    const registered = external_id === null ? null : csi.registeredIds(volumes, plugin_id, external_id);
    const found = csi.findSnapshot(taken, snapshot_id);
    const snapshot = found && {
      plugin: found.plugin,
      created_at: found.created_at,
      source: found.source,
      source_in_provider: external_id === null ? null : csi.isListed(external, external_id),
      source_registered: registered && registered.length > 0,
    };
    return { listed: taken.found, longer_plugins: longerPlugins, snapshot: snapshot ?? null };
  },
  evaluate: ({ listed, longer_plugins, snapshot }, { plugin_id, external_id, created_at, reason }) => {
    if (snapshot === null) {
      return listed ? satisfied('the snapshot is gone') : unknown('the plugin does not list its snapshots');
    }
    if (longer_plugins.length > 0) return drifted(csi.describeLongerPlugins(plugin_id, longer_plugins));
    if ((snapshot.plugin ?? plugin_id) !== plugin_id) return drifted(`it is a snapshot of plugin ${snapshot.plugin}`);
    if (snapshot.source === null && external_id !== null) return unknown('its volume is not reported');
    if (snapshot.source !== external_id) return drifted('it is of another volume');
    if (reason === 'old') {
      if (snapshot.created_at === null) return unknown('its time is not reported');
      return Date.parse(snapshot.created_at) === Date.parse(created_at ?? '')
        ? ready
        : drifted(`it was taken at ${snapshot.created_at}`);
    }
    if (snapshot.source_in_provider || snapshot.source_registered) return drifted('its volume exists');
    const isSourceGone = snapshot.source_in_provider === false && snapshot.source_registered === false;
    return isSourceGone ? ready : unknown('whether its volume exists is not reported');
  },
});

export const dropStaleSnapshots = definePlaybook({
  name: 'drop-stale-snapshots',
  rule: 'stale-snapshot',
  description: 'delete snapshots that are old or whose volume is gone',
  table: 'volume_snapshots',
  detail,
  actions: [drop],
  plan: ({ detail: snapshot }, { target }) => {
    const { snapshot_id, plugin_id, created_at, reason } = snapshot;
    const why = reason === 'old' ? `taken on ${created_at?.slice(0, 10)}` : 'whose volume is gone';
    const summary = `delete snapshot ${snapshot_id} of plugin ${plugin_id}, ${why}`;
    return [{ action: drop, inputs: { ...snapshot, plugin_match: csi.choosePluginMatch(target) }, summary }];
  },
});
