import { z } from 'zod';
import { numberAt, textAt } from '../../core/json-path.ts';
import { plural } from '../../core/plural.ts';
import { defineAction, definePlaybook, drifted, ready, satisfied, unknown } from '../define.ts';
import { explainOtherName, explainOtherUsers, parsePoolUsers, plannedName, readPool } from './lib/platform.ts';
import { readPages, responseBody, responseItems } from './lib/reads.ts';

const detail = z.object({ pool_id: z.string() });

const remove = defineAction(detail.extend({ name: plannedName }), {
  operation: 'platform.agent-pools.delete',
  params: { agent_pool_id: 'pool_id' },
  reads: { pool: readPool, agents: readPages('platform.agents.list', { agent_pool_id: 'pool_id' }) },
  observe: ({ pool, agents }) => {
    if (!pool.found) return null;
    const { workspaces, others } = parsePoolUsers(responseBody(pool));
    return {
      name: textAt(responseBody(pool), 'data', 'attributes', 'name'),
      reported_agents: numberAt(responseBody(pool), 'data', 'attributes', 'agent-count'),
      agents: agents.found ? responseItems(agents).length : null,
      attached: workspaces?.length ?? null,
      others,
    };
  },
  evaluate: (observed, planned) => {
    if (observed === null) return satisfied('the pool is gone');
    const other = explainOtherName(planned.name, observed.name);
    if (other) return other;
    if (observed.agents === null) return unknown('its agents are not reported');
    if (observed.agents > 0) return drifted(`it has ${plural(observed.agents, 'agent')}`);
    if (observed.reported_agents !== null && observed.reported_agents > 0) {
      return unknown(`it reports ${plural(observed.reported_agents, 'agent')}, and the list of its agents is empty`);
    }
    if (observed.attached === null) return unknown('its attached workspaces are not reported');
    if (observed.attached > 0) return drifted(`it has ${plural(observed.attached, 'attached workspace')}`);
    return explainOtherUsers(observed) ?? ready;
  },
});

export const removeEmptyPools = definePlaybook({
  name: 'remove-empty-pools',
  rule: 'empty-agent-pool',
  description: 'delete agent pools without agents that nothing is attached to',
  table: 'agent_pools',
  detail,
  actions: [remove],
  // The one who approves decides: docs/services/platform.md#agent-pools.
  plan: ({ subject_name: name, detail: { pool_id } }) => {
    const summary = `delete agent pool ${name ?? pool_id}; whether it is a default, or of a run task, is not shown`;
    return [{ action: remove, inputs: { pool_id, name }, summary }];
  },
});
