import { listPlugins, scheduler } from '../../services/scheduler/operations.ts';
import { checkPluginAccess, extractByPlugin } from './shared/plugins.ts';
import type { SourceDefinition } from './source.ts';

/** The volumes of the storage providers, for every plugin that is known, and for all others where the service lists them. */
export const externalVolumes: SourceDefinition = {
  name: 'external_volumes',
  kind: 'scheduler',
  operations: [listPlugins, scheduler.volumes.list, scheduler['external-volumes'].list],
  extract: (context) => extractByPlugin(context, scheduler['external-volumes'].list),
  checkAccess: (client, onUnknown) => checkPluginAccess(client, scheduler['external-volumes'].list, onUnknown),
};
