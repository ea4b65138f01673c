import { z } from 'zod';
import type { Flavor, Request, Response, RouteTable } from '../types.ts';
import { countActive, deleteAgents, listAgents } from './agents.ts';
import type { AgentPoolRecord, PlatformContext, Reference } from './context.ts';
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
  type SortKeys,
  sortRecords,
} from './json-api.ts';
import { workspaceDocument } from './workspace-list.ts';
import type { Workspace } from './workspaces.ts';

/** The values that `include` accepts. */
const INCLUDABLE: Readonly<Record<Flavor, readonly string[]>> = {
  spec: ['workspaces'],
  hashicorp: ['workspaces', 'stacks', 'hyok-configurations'],
};

const PARAMETERS = ['q', 'sort', 'include', 'page[number]', 'page[size]', 'filter[allowed_workspaces][name]'];
const LIVE_PARAMETERS = [
  'filter[allowed-workspaces][name]',
  'filter[allowed_projects][name]',
  'filter[allowed-projects][name]',
];

/** Clients send the underscore, and the product's own description has the hyphen. */
function findFilter(query: URLSearchParams, type: string): string | null {
  return query.get(`filter[allowed_${type}][name]`) ?? query.get(`filter[allowed-${type}][name]`);
}

type Verb = 'list' | 'show' | 'create' | 'update';

/** docs/services/platform.md#agent-pools. */
export const poolRoutes: RouteTable<PlatformContext> = {
  'GET /organizations/:organization/agent-pools': listPools,
  'POST /organizations/:organization/agent-pools': createPool,
  'GET /agent-pools/:id': showPool,
  'PATCH /agent-pools/:id': updatePool,
  'DELETE /agent-pools/:id': deletePool,
  'GET /agent-pools/:id/agents': (request, context) =>
    listAgents(context, request, findRecord(context.pools, request).id),
};

function listPools(request: Request, context: PlatformContext): Response {
  const found = sortRecords(request, filterPools(request, context), SORT_KEYS);
  return listResponse(request, found, (pool) => poolDocument(context, pool, 'list'), {
    members: (pools) => includedWorkspaces(context, request, pools),
    meta: { 'status-counts': { total: context.pools.length, matching: found.length } },
  });
}

function showPool(request: Request, context: PlatformContext): Response {
  const pool = findRecord(context.pools, request);
  const included = includedWorkspaces(context, request, [pool]);
  return documentResponse(200, { data: poolDocument(context, pool, 'show'), ...included });
}

function createPool(request: Request, context: PlatformContext): Response {
  const fields = parsePoolBody(parseData(request), undefined, context);
  const { name = '', organizationScoped = true, allowed = [], related = {} } = fields;
  const id = context.poolRandom.id('apool-', 16);
  const pool = { id, name, createdAt: request.now.getTime(), organizationScoped, attached: [], allowed, related };
  context.pools.push(pool);
  return documentResponse(201, { data: poolDocument(context, pool, 'create') });
}

function updatePool(request: Request, context: PlatformContext): Response {
  const pool = findRecord(context.pools, request);
  Object.assign(pool, parsePoolBody(parseData(request), pool, context));
  return documentResponse(200, { data: poolDocument(context, pool, 'update') });
}

function deletePool(request: Request, context: PlatformContext): Response {
  const pool = findRecord(context.pools, request);
  if (pool.attached.length > 0) throw invalid('Agent pool is in use by workspaces', '/data');
  context.pools.splice(context.pools.indexOf(pool), 1);
  deleteAgents(context, pool.id);
  return { status: 204 };
}

function filterPools(request: Request, context: PlatformContext): AgentPoolRecord[] {
  refuseUnknownParameters(request, context.flavor === 'spec' ? PARAMETERS : [...PARAMETERS, ...LIVE_PARAMETERS]);
  const { query } = request;
  const q = query.get('q')?.toLowerCase() ?? '';
  const workspace = findFilter(query, 'workspaces');
  const project = findFilter(query, 'projects');
  return context.pools.filter(
    (pool) =>
      pool.name.toLowerCase().includes(q) &&
      (workspace === null || isUsableBy(context, pool, ({ name }) => name === workspace)) &&
      (project === null || isUsableBy(context, pool, ({ project: { name } }) => name === project)),
  );
}

/** Whether any such workspace may use a pool: it is scoped to the organization, or allows the workspace or its project. */
function isUsableBy(context: PlatformContext, pool: AgentPoolRecord, test: (workspace: Workspace) => boolean): boolean {
  const projects = new Set((pool.related['allowed-projects'] ?? []).map(({ id }) => id));
  return context.workspaces
    .filter(test)
    .some(({ id, project }) => pool.organizationScoped || pool.allowed.includes(id) || projects.has(project.id));
}

/** The specification shows `agent-count` in lists only, and leaves `organization-scoped` out of an update's response. */
function poolDocument(context: PlatformContext, pool: AgentPoolRecord, verb: Verb): JsonObject {
  const isHashicorp = context.flavor === 'hashicorp';
  const path = `/api/v2/agent-pools/${pool.id}`;
  return {
    id: pool.id,
    type: 'agent-pools',
    attributes: {
      name: pool.name,
      'created-at': formatTime(pool.createdAt),
      ...(isHashicorp || verb !== 'update' ? { 'organization-scoped': pool.organizationScoped } : {}),
      ...(isHashicorp || verb === 'list' ? { 'agent-count': countActive(context, pool.id) } : {}),
    },
    relationships: {
      agents: { links: { related: `${path}/agents` } },
      'authentication-tokens': { links: { related: `${path}/authentication-tokens` } },
      workspaces: { data: pool.attached.map(workspaceReference) },
      'allowed-workspaces': { data: pool.allowed.map(workspaceReference) },
      ...(isHashicorp
        ? {
            organization: { data: { id: context.organization, type: 'organizations' } },
            ...Object.fromEntries(Object.keys(RELATED).map((name) => [name, { data: pool.related[name] ?? [] }])),
          }
        : {}),
    },
    links: { self: path },
  };
}

/** The member that `include=workspaces` adds: the attached workspaces, each once. */
function includedWorkspaces(context: PlatformContext, { query }: Request, pools: readonly AgentPoolRecord[]) {
  const names = (query.get('include') ?? '').split(',').filter((name) => name !== '');
  for (const name of names) {
    if (INCLUDABLE[context.flavor].includes(name)) continue;
    throw badParameter(`"${name}" is not a valid include parameter`, 'include');
  }
  if (!names.includes('workspaces')) return {};
  const ids = new Set(pools.flatMap(({ attached }) => attached));
  return { included: context.workspaces.filter(({ id }) => ids.has(id)).map((one) => workspaceDocument(context, one)) };
}

const SORT_KEYS: SortKeys<AgentPoolRecord> = new Map([
  ['name', ({ name }: AgentPoolRecord): string | number => name],
  ['created-at', ({ createdAt }) => createdAt],
]);

function workspaceReference(id: string): JsonObject {
  return { id, type: 'workspaces' };
}

/** The relationships of HCP Terraform beside `workspaces` and `allowed-workspaces`, with the type of their resources. */
export const RELATED: Readonly<Record<string, string>> = {
  'allowed-projects': 'projects',
  'excluded-workspaces': 'workspaces',
  'hyok-configurations': 'hyok-configurations',
  stacks: 'stacks',
  'allowed-stacks': 'stacks',
  'excluded-stacks': 'stacks',
  'allowed-modules': 'registry-modules',
  'excluded-modules': 'registry-modules',
};

/** The fields of a create or update body that are present. */
type PoolFields = Partial<Pick<AgentPoolRecord, 'name' | 'organizationScoped' | 'allowed' | 'related'>>;

const relation = (type: string) =>
  z.object({ data: z.array(z.object({ id: z.string(), type: z.literal(type) })) }).optional();
const RELATIONS = Object.fromEntries(Object.entries(RELATED).map(([name, type]) => [name, relation(type)]));

/** A member that the service would not keep is refused. */
const poolBody = ({ flavor, organization }: PlatformContext) =>
  z.object({
    type: z.literal('agent-pools'),
    attributes: z
      .strictObject({
        name: z
          .string("Name can't be blank")
          .regex(/^[A-Za-z0-9_-]+$/, 'Name can only include letters, numbers, -, and _')
          .optional(),
        'organization-scoped': z.boolean('must be true or false').optional(),
      })
      .optional(),
    relationships: z
      .strictObject({
        'allowed-workspaces': relation('workspaces'),
        ...(flavor === 'hashicorp' && {
          ...RELATIONS,
          organization: z.object({ data: z.object({ id: z.literal(organization) }) }).optional(),
        }),
      })
      .default({}),
  });

/** The body of create (no `pool` yet) or update. @throws HttpError 422 */
function parsePoolBody(data: JsonObject, pool: AgentPoolRecord | undefined, context: PlatformContext): PoolFields {
  const { attributes, relationships } = parseMember(poolBody(context), data, '/data');
  const name = attributes?.name;
  if (name === undefined && !pool) throw invalid("Name can't be blank", '/data/attributes/name');
  if (context.pools.some((other) => other !== pool && other.name === name)) {
    throw invalid('Name has already been taken', '/data/attributes/name');
  }
  const isLive = context.flavor === 'hashicorp';
  // The specified default on update is true; the real product keeps the old value.
  const organizationScoped = attributes?.['organization-scoped'] ?? (pool && isLive ? undefined : true);
  const { 'allowed-workspaces': given, organization: _, ...others } = relationships as Record<string, Relation>;
  const allowed = given?.data.map(({ id }) => id);
  const known = new Set(context.workspaces.map(({ id }) => id));
  const unknown = allowed?.findIndex((id) => !known.has(id)) ?? -1;
  if (unknown >= 0) throw invalid('no such workspace', `/data/relationships/allowed-workspaces/data/${unknown}/id`);
  const related = Object.entries(others).flatMap(([key, one]) => (one ? [[key, one.data] as const] : []));
  return {
    ...(name === undefined ? {} : { name }),
    ...(organizationScoped === undefined ? {} : { organizationScoped }),
    ...(allowed === undefined ? {} : { allowed }),
    // What the body does not mention stays.
    ...(isLive ? { related: { ...pool?.related, ...Object.fromEntries(related) } } : {}),
  };
}

type Relation = { readonly data: readonly Reference[] } | undefined;
