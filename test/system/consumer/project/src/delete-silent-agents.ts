import {
  defineAction,
  definePlaybook,
  drifted,
  listAt,
  ready,
  responseBody,
  satisfied,
  textAt,
  unknown,
  z,
} from 'tidemark';

// The inputs of the action: taken from the detail of the finding, and kept in the plan.
const inputs = z.object({ agent_id: z.string(), pool_id: z.string(), status: z.string() });

const remove = defineAction(inputs, {
  operation: 'platform.agents.delete',
  params: { id: 'agent_id' }, // parameter: input, or { is: 100 } for a constant
  reads: {
    agent: {
      operation: 'platform.agents.show',
      params: { id: 'agent_id' },
      // Without this evidence, "not found" leaves the action pending.
      absence: {
        list: { operation: 'platform.agents.list', params: { agent_pool_id: 'pool_id' }, allPages: true },
        listIds: (agents) => (listAt(agents) ?? []).map((agent) => textAt(agent, 'id') ?? ''), // an item without an ID may be any
        subject: 'agent_id',
        known: { table: 'agents', column: 'agent_id', within: ['pool_id', 'pool_id'] },
      },
    },
  },
  // The part of the results that matters. The ledger keeps it as `before` and `after`: without secrets.
  observe: ({ agent }) =>
    agent.found ? { status: textAt(responseBody(agent), 'data', 'attributes', 'status') } : null,
  evaluate: (observed, { status: planned }) => {
    if (observed === null) return satisfied('the agent is gone');
    if (observed.status === null) return unknown('its status is not reported'); // stays pending
    return observed.status === planned ? ready : drifted(`its status is ${observed.status}`);
  },
});

export const deleteSilentAgents = definePlaybook({
  name: 'delete-silent-agents',
  rule: 'dead-agent',
  description: 'delete agents that no longer respond',
  table: 'agents', // --max-percent counts its rows
  detail: inputs,
  action: remove,
  summary: ({ subject_name, subject_id }) => `delete agent ${subject_name ?? subject_id}`,
});
