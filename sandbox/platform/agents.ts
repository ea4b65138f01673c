import { z } from 'zod';
import { HttpError } from '../router.ts';
import type { Request, Response, RouteTable } from '../types.ts';
import type { AgentRecord, AgentTokenRecord, PlatformContext } from './context.ts';
import { parseTime } from './explorer-query.ts';
import {
  badParameter,
  documentResponse,
  findRecord,
  formatTime,
  invalid,
  type JsonObject,
  listResponse,
  parseData,
  parseMember,
  refuseUnknownParameters,
  sortRecords,
} from './json-api.ts';
import { isAlive } from './seed.ts';

/** docs/services/platform.md#agents. The list of a pool's agents is a route of the pool. */
export const agentRoutes: RouteTable<PlatformContext> = {
  'GET /agents/:id': showAgent,
  'DELETE /agents/:id': deleteAgent,
};

export function listAgents(context: PlatformContext, request: Request, poolId: string): Response {
  refuseUnknownParameters(request, context.flavor === 'spec' ? [SINCE] : [SINCE, 'sort']);
  const isWanted = pingedSince(request);
  const found = context.agents.filter((agent) => agent.poolId === poolId && isWanted(agent));
  const sorted = sortRecords(request, found, new Map([['created-at', ({ createdAt }) => createdAt]]));
  return listResponse(request, sorted, (agent) => agentDocument(context, agent));
}

/** The agents that `agent-count` of a pool counts: docs/services/platform.md#agent-pools. */
export function countActive(context: PlatformContext, poolId: string): number {
  const isActive = ({ status }: AgentRecord) => isAlive(status) || status === 'unknown';
  return context.agents.filter((agent) => agent.poolId === poolId && isActive(agent)).length;
}

export function deleteAgents(context: PlatformContext, poolId: string): void {
  context.agents.splice(0, context.agents.length, ...context.agents.filter((agent) => agent.poolId !== poolId));
}

function showAgent(request: Request, context: PlatformContext): Response {
  return documentResponse(200, { data: agentDocument(context, findRecord(context.agents, request)) });
}

function deleteAgent(request: Request, context: PlatformContext): Response {
  const agent = findRecord(context.agents, request);
  if (isAlive(agent.status)) {
    throw new HttpError(412, 'Cannot delete an agent unless its status is unknown, errored or exited');
  }
  context.agents.splice(context.agents.indexOf(agent), 1);
  return { status: 204 };
}

function agentDocument(context: PlatformContext, agent: AgentRecord): JsonObject {
  return {
    id: agent.id,
    type: 'agents',
    attributes: {
      name: agent.name,
      status: agent.status,
      'ip-address': agent.ipAddress,
      'last-ping-at': agent.lastPingAt === null ? null : formatTime(agent.lastPingAt),
      ...(context.flavor === 'hashicorp' ? { 'created-at': formatTime(agent.createdAt) } : {}),
    },
    links: { self: `/api/v2/agents/${agent.id}` },
  };
}

const SINCE = 'filter[last-ping-since]';

function pingedSince({ query }: Request): (agent: AgentRecord) => boolean {
  const text = query.get(SINCE);
  if (text === null) return () => true;
  const since = parseTime(text);
  if (Number.isNaN(since)) throw badParameter(`${SINCE} must be an ISO 8601 date-time`, SINCE);
  return ({ lastPingAt }) => lastPingAt !== null && lastPingAt >= since;
}

/** The tokens with which agents register in a pool, with the flavor of the real products. */
export const agentTokenRoutes: RouteTable<PlatformContext> = {
  'GET /agent-pools/:id/authentication-tokens': listTokens,
  'POST /agent-pools/:id/authentication-tokens': createToken,
  'GET /authentication-tokens/:id': (request, { agentTokens }) =>
    documentResponse(200, { data: document(findRecord(agentTokens, request)) }),
  'DELETE /authentication-tokens/:id': deleteToken,
};

function listTokens(request: Request, context: PlatformContext): Response {
  const { id } = findRecord(context.pools, request);
  const found = context.agentTokens.filter(({ poolId }) => poolId === id);
  return documentResponse(200, { data: found.map((token) => document(token)) });
}

/** Only this response has the token. */
function createToken(request: Request, context: PlatformContext): Response {
  const poolId = findRecord(context.pools, request).id;
  const { type, attributes } = parseData(request);
  // The platform accepts both; its own Go client sends the second one.
  if (type !== 'authentication-tokens' && type !== 'agent-tokens') {
    throw invalid('type must be authentication-tokens', '/data/type');
  }
  const { description } = parseMember(z.strictObject({ description: z.string() }), attributes, '/data/attributes');
  const random = context.tokenRandom;
  const token = { id: random.id('at-', 16), poolId, description, createdAt: request.now.getTime() };
  context.agentTokens.push(token);
  return documentResponse(201, { data: document(token, `${random.id('', 14)}.atlasv1.${random.id('', 60)}`) });
}

function deleteToken(request: Request, context: PlatformContext): Response {
  context.agentTokens.splice(context.agentTokens.indexOf(findRecord(context.agentTokens, request)), 1);
  return { status: 204 };
}

function document({ id, description, createdAt }: AgentTokenRecord, token: string | null = null): JsonObject {
  return {
    id,
    type: 'authentication-tokens',
    attributes: {
      'created-at': formatTime(createdAt),
      'last-used-at': null,
      description,
      token,
      'expired-at': null,
    },
    relationships: { 'created-by': { data: { id: 'user-sandbox', type: 'users' } } },
  };
}
