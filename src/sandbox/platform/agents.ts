import type { Ask, Flavor, Reply, Route } from '../types.ts';
import { parseTime } from './filters.ts';
import { answering, documentReply, notFound, Refusal } from './json-api.ts';
import { envelope, itemsOn, pageOf } from './paging.ts';
import { agentDocument } from './pool-documents.ts';
import { poolOf } from './pools.ts';
import type { Agent, PlatformState } from './state.ts';

function agentOf({ params }: Ask, { agents }: PlatformState): Agent {
  const agent = agents.find(({ id }) => id === params.id);
  if (!agent) throw notFound();
  return agent;
}

function pingedSince(ask: Ask): (agent: Agent) => boolean {
  const parameter = 'filter[last-ping-since]';
  const text = ask.query.get(parameter);
  if (text === null) return () => true;
  const since = parseTime(text);
  if (Number.isNaN(since)) throw new Refusal(400, `${parameter} must be an ISO 8601 date-time`, { parameter });
  return ({ lastPingAt }) => lastPingAt !== null && lastPingAt >= since;
}

/** Agents: list of a pool, show, delete. */
export function agentRoutes(state: PlatformState, flavor: Flavor): Route[] {
  const list = (ask: Ask): Reply => {
    const pool = poolOf(ask, state);
    const page = pageOf(ask);
    const wanted = pingedSince(ask);
    const found = state.agents.filter((agent) => agent.poolId === pool.id && wanted(agent));
    const data = itemsOn(found, page).map((agent) => agentDocument(agent, flavor));
    return documentReply(200, { data, ...envelope(ask, page, found.length) });
  };

  const show = (ask: Ask): Reply => documentReply(200, { data: agentDocument(agentOf(ask, state), flavor) });

  const remove = (ask: Ask): Reply => {
    const agent = agentOf(ask, state);
    if (agent.status === 'idle' || agent.status === 'busy') {
      throw new Refusal(412, 'Cannot delete an agent unless its status is unknown, errored or exited');
    }
    state.agents.splice(state.agents.indexOf(agent), 1);
    return { status: 204 };
  };

  return [
    { method: 'GET', path: '/agent-pools/:id/agents', answer: answering(list) },
    { method: 'GET', path: '/agents/:id', answer: answering(show) },
    { method: 'DELETE', path: '/agents/:id', writes: true, answer: answering(remove) },
  ];
}
