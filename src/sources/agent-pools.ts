import { platform } from '../services/platform/operations.ts';
import { fetchPools } from './pools.ts';
import type { SourceDefinition } from './source.ts';

/** Pools with the workspaces attached to them and allowed to use them (platform.md, "Agent pool": relationships). */
export const agentPools: SourceDefinition = {
  name: 'agent_pools',
  kind: 'platform',
  checkAccess: (service) => service.call(platform['agent-pools'].list, { 'page[size]': 1 }),
  async extract(run) {
    for (const page of await run.once('agent pools', () => fetchPools(run))) {
      await run.landing.writeJson({}, page.text);
      run.landing.expectRows(page.items.length);
    }
  },
};
