import { z } from 'zod';
import { defineAction, definePlaybook, drifted, ready, satisfied } from '../remediation/define.ts';
import { listAt, responseBody, responseItems } from './lib/json-path.ts';

const inputs = z.object({ pool_id: z.string() });

const remove = defineAction(inputs, {
  operation: 'platform.agent-pools.delete',
  params: { agent_pool_id: 'pool_id' },
  reads: {
    pool: { operation: 'platform.agent-pools.show', params: { id: 'pool_id' } },
    agents: { operation: 'platform.agents.list', params: { agent_pool_id: 'pool_id' }, allPages: true },
  },
  observe: ({ pool, agents }) =>
    pool.found
      ? {
          agents: agents.found ? responseItems(agents).length : null,
          attached: listAt(responseBody(pool), 'data', 'relationships', 'workspaces', 'data')?.length ?? null,
        }
      : null,
  evaluate: (observed) => {
    if (observed === null) return satisfied('the pool is gone');
    if (observed.agents === null) return drifted('its agents are not reported');
    if (observed.agents > 0) return drifted(`it has ${observed.agents} agent(s)`);
    if (observed.attached === null) return drifted('its attached workspaces are not reported');
    return observed.attached > 0 ? drifted(`${observed.attached} workspace(s) are attached to it`) : ready;
  },
});

export const removeEmptyPools = definePlaybook({
  name: 'remove-empty-pools',
  rule: 'empty-agent-pool',
  description: 'delete agent pools without agents and without attached workspaces',
  table: 'agent_pools',
  detail: inputs,
  action: remove,
  summary: ({ subject_name, detail }) => `delete agent pool ${subject_name ?? detail.pool_id}`,
});
