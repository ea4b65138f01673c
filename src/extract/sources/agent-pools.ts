import { platform } from '../../services/platform/operations.ts';
import { fetchPools } from './shared/snapshot-pages.ts';
import type { SourceDefinition } from './source.ts';

/** Agent pools, with the workspaces that are attached to them or allowed to use them. */
export const agentPools: SourceDefinition = {
  name: 'agent_pools',
  kind: 'platform',
  operations: [platform['agent-pools'].list],
  async extract(context) {
    const { landing, once } = context;
    for (const page of await once('agent pools', () => fetchPools(context))) {
      await landing.writeJson({}, page.text);
      landing.expectRows(page.items.length);
    }
  },
  checkAccess: (client) => client.call(platform['agent-pools'].list, { 'page[size]': 1 }),
};
