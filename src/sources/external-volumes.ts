import { scheduler } from '../services/scheduler/operations.ts';
import { checkPluginAccess, extractByPlugin } from './shared/volumes.ts';
import type { SourceDefinition } from './source.ts';

/** The volumes of the storage providers, for every plugin of a registered volume. */
export const externalVolumes: SourceDefinition = {
  name: 'external_volumes',
  kind: 'scheduler',
  extract: (context) => extractByPlugin(context, scheduler['external-volumes'].list),
  checkAccess: (client) => checkPluginAccess(client, scheduler['external-volumes'].list),
};
