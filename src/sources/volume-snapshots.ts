import { scheduler } from '../services/scheduler.ts';
import type { Source } from './source.ts';
import { landByPlugin, probePlugins } from './volume-list.ts';

/** Snapshots as the storage providers know them, of every plugin that a registered volume names. */
export const volumeSnapshots: Source = {
  name: 'volume_snapshots',
  kind: 'scheduler',
  probe: (service) => probePlugins(service, scheduler.snapshots.list),
  extract: (run) => landByPlugin(run, scheduler.snapshots.list),
};
