import { scheduler } from '../services/scheduler/operations.ts';
import { checkPluginAccess, extractByPlugin } from './shared/volumes.ts';
import type { SourceDefinition } from './source.ts';

/** Snapshots as the storage providers know them, of every plugin that a registered volume names. */
export const volumeSnapshots: SourceDefinition = {
  name: 'volume_snapshots',
  kind: 'scheduler',
  checkAccess: (service) => checkPluginAccess(service, scheduler.snapshots.list),
  extract: (run) => extractByPlugin(run, scheduler.snapshots.list),
};
