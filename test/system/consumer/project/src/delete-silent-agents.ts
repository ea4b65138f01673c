import { defineAction, definePlaybook, drifted, ready, responseBody, satisfied, textAt, z } from 'tidemark';

const inputs = z.object({ agent_id: z.string(), status: z.string() });

const remove = defineAction(inputs, {
  operation: 'platform.agents.delete',
  params: { id: 'agent_id' },
  reads: { agent: { operation: 'platform.agents.show', params: { id: 'agent_id' } } },
  observe: ({ agent }) => ({ status: textAt(responseBody(agent), 'data', 'attributes', 'status') }),
  evaluate: ({ status }, { status: planned }) => {
    if (status === null) return satisfied('the agent is gone');
    return status === planned ? ready : drifted(`its status is ${status}`);
  },
});

export const deleteSilentAgents = definePlaybook({
  name: 'delete-silent-agents',
  rule: 'dead-agent',
  description: 'delete agents that no longer respond',
  table: 'agents',
  detail: inputs,
  action: remove,
  summary: ({ subject_name, subject_id }) => `delete agent ${subject_name ?? subject_id}`,
});
