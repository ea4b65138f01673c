import { scheduler } from '../services/scheduler/operations.ts';
import { checkPluginAccess, extractByPlugin } from './shared/volumes.ts';
import type { SourceDefinition } from './source.ts';

/** Volumes as the storage providers know them, of every plugin that a registered volume names. */
export const externalVolumes: SourceDefinition = {
  name: 'external_volumes',
  kind: 'scheduler',
  checkAccess: (service) => checkPluginAccess(service, scheduler['external-volumes'].list),
  extract: (run) => extractByPlugin(run, scheduler['external-volumes'].list),
};
