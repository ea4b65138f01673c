import { platform } from '../services/platform/operations.ts';
import { extractPages } from './shared/snapshot-pages.ts';
import type { SourceDefinition } from './source.ts';

/** Explorer queries that the organization keeps under a name. */
export const savedViews: SourceDefinition = {
  name: 'saved_views',
  kind: 'platform',
  checkAccess: (service) => service.call(platform.views.list),
  extract: async (run) => {
    await extractPages(run, platform.views.list, {});
  },
};
