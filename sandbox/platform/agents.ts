import { createRandom, type Random } from '../random.ts';
import { HttpError, isObject } from '../responses.ts';
import type { Flavor, Request, Resource, Response, Route, ServiceOptions } from '../types.ts';
import { type AgentPoolRecord, refuseUnknown } from './agent-pool-body.ts';
import { parseTime } from './explorer-query.ts';
import {
  badParameter,
  documentResponse,
  findRecord,
  invalid,
  type JsonObject,
  notFound,
  pageEnvelope,
  parseData,
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

  #show(request: Request): Response {
    return documentResponse(200, { data: this.#document(findRecord(this.records, request)) });
  }

  #delete(request: Request): Response {
    const agent = findRecord(this.records, request);
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

interface AgentTokenRecord {
  readonly id: string;
  readonly poolId: string;
  readonly description: string;
  readonly createdAt: number;
}

/** The tokens with which agents register in a pool, with the flavor of the real products. */
export class AgentTokens implements Resource {
  readonly #isHashicorp: boolean;
  readonly #records: AgentTokenRecord[] = [];
  readonly #pools: readonly AgentPoolRecord[];
  readonly #random: Random;

  constructor({ seed, flavor }: ServiceOptions, pools: readonly AgentPoolRecord[]) {
    this.#isHashicorp = flavor === 'hashicorp';
    this.#pools = pools;
    this.#random = createRandom(`${seed}/platform/agent-tokens`);
  }

  get routes(): readonly Route[] {
    if (!this.#isHashicorp) return [];
    const ofPool = '/agent-pools/:id/authentication-tokens';
    const one = '/authentication-tokens/:id';
    return [
      { method: 'GET', path: ofPool, handle: (request) => this.#list(request) },
      { method: 'POST', path: ofPool, writes: true, handle: (request) => this.#create(request) },
      {
        method: 'GET',
        path: one,
        handle: (request) => documentResponse(200, { data: document(findRecord(this.#records, request)) }),
      },
      { method: 'DELETE', path: one, writes: true, handle: (request) => this.#delete(request) },
    ];
  }

  #list({ params }: Request): Response {
    this.#checkPool(params.id!);
    const found = this.#records.filter(({ poolId }) => poolId === params.id);
    return documentResponse(200, { data: found.map((token) => document(token)) });
  }

  /** Only this response has the token. */
  #create(request: Request): Response {
    this.#checkPool(request.params.id!);
    const { type, attributes } = parseData(request);
    // The platform accepts both; its own Go client sends the second one.
    if (type !== 'authentication-tokens' && type !== 'agent-tokens') {
      throw invalid('type must be authentication-tokens', '/data/type');
    }
    if (!isObject(attributes)) throw invalid('must be an object', '/data/attributes');
    refuseUnknown(attributes, ['description'], '/data/attributes');
    if (typeof attributes.description !== 'string') throw invalid('is required', '/data/attributes/description');
    const token = {
      id: this.#random.id('at-', 16),
      poolId: request.params.id!,
      description: attributes.description,
      createdAt: request.now.getTime(),
    };
    this.#records.push(token);
    return documentResponse(201, {
      data: document(token, `${this.#random.id('', 14)}.atlasv1.${this.#random.id('', 60)}`),
    });
  }

  #delete(request: Request): Response {
    this.#records.splice(this.#records.indexOf(findRecord(this.#records, request)), 1);
    return { status: 204 };
  }

  #checkPool(id: string): void {
    if (!this.#pools.some((pool) => pool.id === id)) throw notFound();
  }
}

function document({ id, description, createdAt }: AgentTokenRecord, token: string | null = null): JsonObject {
  return {
    id,
    type: 'authentication-tokens',
    attributes: {
      'created-at': new Date(createdAt).toISOString(),
      'last-used-at': null,
      description,
      token,
      'expired-at': null,
    },
    relationships: { 'created-by': { data: { id: 'user-sandbox', type: 'users' } } },
  };
}
