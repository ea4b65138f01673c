import { z } from 'zod';
import { readTime } from '../../core/clock.ts';
import { textAt, valueAt } from '../../core/json-path.ts';
import { defineAction, definePlaybook, drifted, ready, satisfied, unknown } from '../define.ts';
import { readSubject, responseBody, showTime } from './lib/reads.ts';

const inputs = z.object({
  agent_id: z.string(),
  pool_id: z.string(),
  pool_name: z.string().nullable(),
  status: z.string(),
  /** Null where the agent never reported a ping. */
  last_ping_at: z.string().nullable(),
});

/** The service deletes an agent in no other status, and returns 412: docs/services/platform.md#agents. */
const DEAD = ['unknown', 'errored', 'exited'];

const remove = defineAction(inputs, {
  operation: 'platform.agents.delete',
  params: { id: 'agent_id' },
  reads: {
    agent: readSubject('platform.agents.show', { id: 'agent_id' }, 'agents.agent_id', {
      of: { agent_pool_id: 'pool_id' },
    }),
  },
  observe: ({ agent }) => {
    const attributes = valueAt(responseBody(agent), 'data', 'attributes');
    if (!agent.found) return null;
    return { status: textAt(attributes, 'status'), last_ping_at: showTime(valueAt(attributes, 'last-ping-at')) };
  },
  evaluate: (observed, planned) => {
    if (observed === null) return satisfied('the agent is gone');
    const { status, last_ping_at } = observed;
    if (status === null) return unknown('its status is not reported');
    if (!DEAD.includes(status)) return drifted(`its status is ${status}`);
    if (last_ping_at === null) return planned.last_ping_at === null ? ready : unknown('its last ping is not reported');
    const [pinged, before] = [readTime(last_ping_at), readTime(planned.last_ping_at ?? '1970-01-01')];
    // What is no time may be a later one.
    return pinged && before && pinged <= before ? ready : drifted(`it pinged at ${last_ping_at}`);
  },
});

export const reapDeadAgents = definePlaybook({
  name: 'reap-dead-agents',
  rule: 'dead-agent',
  description: 'delete agents that are unknown, errored or exited and have sent no ping for `deadAgentHours`',
  table: 'agents',
  detail: inputs,
  action: remove,
  summary: ({ subject_name, detail }) =>
    `delete agent ${subject_name ?? detail.agent_id} of pool ${detail.pool_name ?? '?'}, which is ${detail.status}`,
});
