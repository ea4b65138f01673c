import { platform } from '../services/platform.ts';
import { landPages } from './pages.ts';
import type { Source } from './source.ts';

/** Explorer queries that the organization keeps under a name. */
export const savedViews: Source = {
  name: 'saved_views',
  kind: 'platform',
  probe: (service) => service.call(platform.views.list),
  extract: async (run) => {
    await landPages(run, platform.views.list, {});
  },
};
