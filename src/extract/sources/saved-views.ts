import { platform } from '../../services/platform/operations.ts';
import { extractPages } from './shared/snapshot-pages.ts';
import type { SourceDefinition } from './source.ts';

/** Saved explorer queries of the organization. */
export const savedViews: SourceDefinition = {
  name: 'saved_views',
  kind: 'platform',
  needsExplorer: true,
  operations: [platform.views.list],
  async extract(context) {
    await extractPages(context, platform.views.list, {});
  },
  checkAccess: (client) => client.call(platform.views.list),
};
