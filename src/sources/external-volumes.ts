import { scheduler } from '../services/scheduler.ts';
import type { Source } from './source.ts';
import { landByPlugin, probePlugins } from './volume-list.ts';

/** Volumes as the storage providers know them, of every plugin that a registered volume names. */
export const externalVolumes: Source = {
  name: 'external_volumes',
  kind: 'scheduler',
  probe: (service) => probePlugins(service, scheduler['external-volumes'].list),
  extract: (run) => landByPlugin(run, scheduler['external-volumes'].list),
};
