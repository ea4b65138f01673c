import { scheduler } from '../services/scheduler/operations.ts';
import { checkPluginAccess, extractByPlugin } from './shared/volumes.ts';
import type { SourceDefinition } from './source.ts';

/** The snapshots of the storage providers, for every plugin of a registered volume. */
export const volumeSnapshots: SourceDefinition = {
  name: 'volume_snapshots',
  kind: 'scheduler',
  extract: (context) => extractByPlugin(context, scheduler.snapshots.list),
  checkAccess: (client) => checkPluginAccess(client, scheduler.snapshots.list),
};
