import { listPlugins, scheduler } from '../../services/scheduler/operations.ts';
import { checkPluginAccess, extractByPlugin } from './shared/plugins.ts';
import type { SourceDefinition } from './source.ts';

/** The snapshots of the storage providers, for every plugin that is known. */
export const volumeSnapshots: SourceDefinition = {
  name: 'volume_snapshots',
  kind: 'scheduler',
  operations: [listPlugins, scheduler.volumes.list, scheduler.snapshots.list],
  extract: (context) => extractByPlugin(context, scheduler.snapshots.list),
  checkAccess: (client, onUnknown) => checkPluginAccess(client, scheduler.snapshots.list, onUnknown),
};
