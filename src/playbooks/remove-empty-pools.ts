import { z } from 'zod';
import { bodyOf, itemsOf, listAt } from './answers.ts';
import { simplePlaybook } from './playbook.ts';
import { step } from './step.ts';
import { changed, done, due } from './verdict.ts';

const facts = z.object({ pool_id: z.string() });

const remove = step(facts, {
  operation: 'platform.agent-pools.delete',
  params: { agent_pool_id: 'pool_id' },
  reads: {
    pool: { operation: 'platform.agent-pools.show', params: { id: 'pool_id' } },
    agents: { operation: 'platform.agents.list', params: { agent_pool_id: 'pool_id' }, whole: true },
  },
  see: ({ pool, agents }) =>
    pool.found
      ? {
          agents: agents.found ? itemsOf(agents).length : null,
          attached: listAt(bodyOf(pool), 'data', 'relationships', 'workspaces', 'data')?.length ?? null,
        }
      : null,
  judge: (seen) => {
    if (seen === null) return done('the pool is gone');
    if (seen.agents === null) return changed('its agents are not told');
    if (seen.agents > 0) return changed(`it has ${seen.agents} agent(s)`);
    if (seen.attached === null) return changed('what is attached to it is not told');
    return seen.attached > 0 ? changed(`${seen.attached} workspace(s) are attached to it`) : due;
  },
});

export const removeEmptyPools = simplePlaybook({
  name: 'remove-empty-pools',
  rule: 'empty-agent-pool',
  about: 'delete agent pools without agents and without attached workspaces',
  table: 'agent_pools',
  detail: facts,
  step: remove,
  summary: ({ subject_name, detail }) => `delete agent pool ${subject_name ?? detail.pool_id}`,
});
