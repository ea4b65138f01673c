import { scheduler } from '../services/scheduler.ts';
import type { Source } from './source.ts';
import { landByPlugin } from './volume-list.ts';

/** Snapshots as the storage providers know them, of every plugin that a registered volume names. */
export const volumeSnapshots: Source = {
  name: 'volume_snapshots',
  kind: 'scheduler',
  probe: (service) => service.call(scheduler.volumes.list, { type: 'csi' }),
  extract: (run) => landByPlugin(run, scheduler.snapshots.list),
};
