import { platform } from '../services/platform.ts';
import { askPools } from './pools.ts';
import type { Source } from './source.ts';

/** Pools with the workspaces attached to them and allowed to use them (platform.md, "Agent pool": relationships). */
export const agentPools: Source = {
  name: 'agent_pools',
  kind: 'platform',
  probe: (service) => service.call(platform['agent-pools'].list, { 'page[size]': 1 }),
  async extract(run) {
    for (const page of await run.shared('agent pools', () => askPools(run))) {
      await run.land.line({}, page.text);
      run.land.expect(page.items.length);
    }
  },
};
