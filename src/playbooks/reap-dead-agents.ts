import { z } from 'zod';
import { at, bodyOf, textAt } from './answers.ts';
import { simplePlaybook } from './playbook.ts';
import { step } from './step.ts';
import { changed, done, due } from './verdict.ts';

const facts = z.object({
  agent_id: z.string(),
  pool_name: z.string().nullable(),
  status: z.string(),
  /** null: it never told one. */
  last_ping_at: z.string().nullable(),
});

/** platform.md, "States and transitions": the service deletes an agent in no other state, and answers 412. */
const DEAD = ['unknown', 'errored', 'exited'];

const remove = step(facts, {
  operation: 'platform.agents.delete',
  params: { id: 'agent_id' },
  reads: { agent: { operation: 'platform.agents.show', params: { id: 'agent_id' } } },
  see: ({ agent }) => {
    const attributes = at(bodyOf(agent), 'data', 'attributes');
    return attributes === undefined
      ? null
      : { status: textAt(attributes, 'status'), last_ping_at: textAt(attributes, 'last-ping-at') };
  },
  judge: (seen, { last_ping_at }) => {
    if (seen === null) return done('the agent is gone');
    if (!DEAD.includes(seen.status ?? '')) return changed(`its status is ${seen.status ?? 'not told'}`);
    const pinged = seen.last_ping_at !== null && Date.parse(seen.last_ping_at) > Date.parse(last_ping_at ?? '1970');
    return pinged ? changed(`it pinged at ${seen.last_ping_at}`) : due;
  },
});

export const reapDeadAgents = simplePlaybook({
  name: 'reap-dead-agents',
  rule: 'dead-agent',
  about: 'delete agents that are unknown, errored or exited, and silent for long',
  table: 'agents',
  detail: facts,
  step: remove,
  summary: ({ subject_name, detail }) =>
    `delete agent ${subject_name ?? detail.agent_id} of pool ${detail.pool_name ?? '?'}, which is ${detail.status}`,
});
