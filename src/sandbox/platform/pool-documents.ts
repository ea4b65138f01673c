import type { Flavor } from '../types.ts';
import type { Json } from './json-api.ts';
import type { Agent, PlatformState, Pool, Workspace } from './state.ts';

const time = (ms: number): string => new Date(ms).toISOString();
const reference = (id: string): Json => ({ id, type: 'workspaces' });

/** Only idle, busy and unknown agents count (live-services.md A3). */
export const agentCount = (state: PlatformState, pool: Pool): number =>
  state.agents.filter(
    ({ poolId, status }) => poolId === pool.id && (status === 'idle' || status === 'busy' || status === 'unknown'),
  ).length;

export type Occasion = 'list' | 'show' | 'create' | 'update';

/** The documents show `agent-count` in lists only, and leave `organization-scoped` out of an update's answer. */
export function poolDocument(state: PlatformState, pool: Pool, occasion: Occasion, flavor: Flavor): Json {
  const live = flavor === 'hashicorp';
  const path = `/api/v2/agent-pools/${pool.id}`;
  return {
    id: pool.id,
    type: 'agent-pools',
    attributes: {
      name: pool.name,
      'created-at': time(pool.createdAt),
      ...(live || occasion !== 'update' ? { 'organization-scoped': pool.organizationScoped } : {}),
      ...(live || occasion === 'list' ? { 'agent-count': agentCount(state, pool) } : {}),
    },
    relationships: {
      agents: { links: { related: `${path}/agents` } },
      'authentication-tokens': { links: { related: `${path}/authentication-tokens` } },
      workspaces: { data: pool.attached.map(reference) },
      'allowed-workspaces': { data: pool.allowed.map(reference) },
      ...(live
        ? {
            organization: { data: { id: state.organization, type: 'organizations' } },
            'allowed-projects': { data: [] },
            'excluded-workspaces': { data: [] },
            'hyok-configurations': { data: [] },
          }
        : {}),
    },
    links: { self: path },
  };
}

export function agentDocument(agent: Agent, flavor: Flavor): Json {
  return {
    id: agent.id,
    type: 'agents',
    attributes: {
      name: agent.name,
      status: agent.status,
      'ip-address': agent.ipAddress,
      'last-ping-at': agent.lastPingAt === null ? null : time(agent.lastPingAt),
      ...(flavor === 'hashicorp' ? { 'created-at': time(agent.createdAt) } : {}),
    },
    links: { self: `/api/v2/agents/${agent.id}` },
  };
}

/** What `include=workspaces` adds: the attached workspaces, each once. */
export function includedWorkspaces(state: PlatformState, pools: readonly Pool[]): Json[] {
  const wanted = new Set(pools.flatMap(({ attached }) => attached));
  return state.workspaces.filter(({ id }) => wanted.has(id)).map(workspaceDocument);
}

const workspaceDocument = ({ id, name, createdAt, updatedAt, toolVersion }: Workspace): Json => ({
  id,
  type: 'workspaces',
  attributes: {
    name,
    'created-at': time(createdAt),
    'updated-at': time(updatedAt),
    'terraform-version': toolVersion,
  },
  links: { self: `/api/v2/organizations/acme/workspaces/${encodeURIComponent(name)}` },
});
