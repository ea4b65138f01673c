import { HttpError } from '../responses.ts';
import type { Flavor, Request, Resource, Response, Route } from '../types.ts';
import { parseTime } from './explorer-filters.ts';
import {
  badParameter,
  documentResponse,
  type JsonObject,
  notFound,
  pageEnvelope,
  parsePage,
  refuseUnknownParameters,
  slicePage,
} from './json-api.ts';

export type AgentStatus = 'idle' | 'busy' | 'unknown' | 'errored' | 'exited';

export interface AgentRecord {
  readonly id: string;
  readonly poolId: string;
  name: string | null;
  status: AgentStatus;
  ipAddress: string | null;
  createdAt: number;
  lastPingAt: number | null;
}

/** docs/services/platform.md#agents. The list of a pool's agents is a route of the pool. */
export class Agents implements Resource {
  readonly records: AgentRecord[] = [];
  readonly #flavor: Flavor;

  constructor(flavor: Flavor) {
    this.#flavor = flavor;
  }

  get routes(): readonly Route[] {
    return [
      { method: 'GET', path: '/agents/:id', handle: (request) => this.#show(request) },
      { method: 'DELETE', path: '/agents/:id', writes: true, handle: (request) => this.#delete(request) },
    ];
  }

  /** One page of a pool's agents. */
  list(request: Request, poolId: string): Response {
    refuseUnknownParameters(request, this.#flavor === 'spec' ? [SINCE] : [SINCE, 'sort']);
    const page = parsePage(request);
    const isWanted = pingedSince(request);
    const found = this.records.filter((agent) => agent.poolId === poolId && isWanted(agent));
    sortAgents(request, found);
    const data = slicePage(found, page).map((agent) => this.#document(agent));
    return documentResponse(200, { data, ...pageEnvelope(request, page, found.length) });
  }

  /** The agents that `agent-count` of a pool counts: docs/services/platform.md#agent-pools. */
  countActive(poolId: string): number {
    return this.records.filter(
      (agent) =>
        agent.poolId === poolId && (agent.status === 'idle' || agent.status === 'busy' || agent.status === 'unknown'),
    ).length;
  }

  deleteOfPool(poolId: string): void {
    this.records.splice(0, this.records.length, ...this.records.filter((agent) => agent.poolId !== poolId));
  }

  #find({ params }: Request): AgentRecord {
    const agent = this.records.find(({ id }) => id === params.id);
    if (!agent) throw notFound();
    return agent;
  }

  #show(request: Request): Response {
    return documentResponse(200, { data: this.#document(this.#find(request)) });
  }

  #delete(request: Request): Response {
    const agent = this.#find(request);
    if (agent.status === 'idle' || agent.status === 'busy') {
      throw new HttpError(412, 'Cannot delete an agent unless its status is unknown, errored or exited');
    }
    this.records.splice(this.records.indexOf(agent), 1);
    return { status: 204 };
  }

  #document(agent: AgentRecord): JsonObject {
    return {
      id: agent.id,
      type: 'agents',
      attributes: {
        name: agent.name,
        status: agent.status,
        'ip-address': agent.ipAddress,
        'last-ping-at': agent.lastPingAt === null ? null : new Date(agent.lastPingAt).toISOString(),
        ...(this.#flavor === 'hashicorp' ? { 'created-at': new Date(agent.createdAt).toISOString() } : {}),
      },
      links: { self: `/api/v2/agents/${agent.id}` },
    };
  }
}

const SINCE = 'filter[last-ping-since]';

/** By creation, newest first with `-`. */
function sortAgents({ query }: Request, agents: AgentRecord[]): void {
  const sort = query.get('sort');
  if (sort === null) return;
  if (sort !== 'created-at' && sort !== '-created-at') throw badParameter('sort must be created-at', 'sort');
  const direction = sort.startsWith('-') ? -1 : 1;
  agents.sort((a, b) => direction * (a.createdAt - b.createdAt));
}

function pingedSince({ query }: Request): (agent: AgentRecord) => boolean {
  const text = query.get(SINCE);
  if (text === null) return () => true;
  const since = parseTime(text);
  if (Number.isNaN(since)) throw badParameter(`${SINCE} must be an ISO 8601 date-time`, SINCE);
  return ({ lastPingAt }) => lastPingAt !== null && lastPingAt >= since;
}
