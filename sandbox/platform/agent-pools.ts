import { isObject } from '../router.ts';
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
  refuseUnknown,
  refuseUnknownParameters,
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
  const found = sortPools(request, filterPools(request, context));
  return listResponse(request, found, (pool) => poolDocument(context, pool, 'list'), {
    members: (pools) => includedWorkspaces(context, request, pools),
    meta: { 'status-counts': { total: context.pools.length, matching: found.length } },
  });
}

function showPool(request: Request, context: PlatformContext): Response {
  const pool = findRecord(context.pools, request);
  return poolResponse(context, 200, pool, 'show', includedWorkspaces(context, request, [pool]));
}

function createPool(request: Request, context: PlatformContext): Response {
  const fields = parsePoolBody(parseData(request), undefined, context);
  const { name = '', organizationScoped = true, allowed = [], related = {} } = fields;
  const id = context.poolRandom.id('apool-', 16);
  const pool = { id, name, createdAt: request.now.getTime(), organizationScoped, attached: [], allowed, related };
  context.pools.push(pool);
  return poolResponse(context, 201, pool, 'create');
}

function updatePool(request: Request, context: PlatformContext): Response {
  const pool = findRecord(context.pools, request);
  Object.assign(pool, parsePoolBody(parseData(request), pool, context));
  return poolResponse(context, 200, pool, 'update');
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

function poolResponse(
  context: PlatformContext,
  status: number,
  pool: AgentPoolRecord,
  verb: Verb,
  extra: JsonObject = {},
): Response {
  return documentResponse(status, { data: poolDocument(context, pool, verb), ...extra });
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
function includedWorkspaces(
  context: PlatformContext,
  { query }: Request,
  pools: readonly AgentPoolRecord[],
): JsonObject {
  const names = (query.get('include') ?? '').split(',').filter((name) => name !== '');
  for (const name of names) {
    if (INCLUDABLE[context.flavor].includes(name)) continue;
    throw badParameter(`"${name}" is not a valid include parameter`, 'include');
  }
  if (!names.includes('workspaces')) return {};
  const ids = new Set(pools.flatMap(({ attached }) => attached));
  return { included: context.workspaces.filter(({ id }) => ids.has(id)).map((one) => workspaceDocument(context, one)) };
}

function sortPools({ query }: Request, pools: AgentPoolRecord[]): AgentPoolRecord[] {
  const sort = query.get('sort');
  if (sort === null) return pools;
  const key = sort.replace(/^-/, '');
  if (key !== 'name' && key !== 'created-at') throw badParameter('sort must be name or created-at', 'sort');
  const value = (pool: AgentPoolRecord): string | number => (key === 'name' ? pool.name : pool.createdAt);
  const direction = sort.startsWith('-') ? -1 : 1;
  return pools.sort((a, b) => (value(a) === value(b) ? 0 : value(a) < value(b) ? -direction : direction));
}

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

const ATTRIBUTES = ['name', 'organization-scoped'];
const RELATIONSHIPS = '/data/relationships';

/** The fields of a create or update body that are present. */
type PoolFields = Partial<Pick<AgentPoolRecord, 'name' | 'organizationScoped' | 'allowed' | 'related'>>;

/** The body of create (no `pool` yet) or update. A member that the service would not keep is refused. @throws HttpError 422 */
function parsePoolBody(data: JsonObject, pool: AgentPoolRecord | undefined, context: PlatformContext): PoolFields {
  if (data.type !== 'agent-pools') throw invalid('type must be agent-pools', '/data/type');
  if (data.attributes !== undefined && !isObject(data.attributes)) {
    throw invalid('must be an object', '/data/attributes');
  }
  if (data.attributes === undefined && !pool) throw invalid('attributes are missing', '/data/attributes');
  const attributes = isObject(data.attributes) ? data.attributes : {};
  refuseUnknown(attributes, ATTRIBUTES, '/data/attributes');
  const relationships = parseRelationships(data, context);
  const name = parseName(attributes, pool, context.pools);
  const organizationScoped = parseScope(attributes, pool, context.flavor);
  const allowed = parseAllowed(relationships, context.workspaces);
  const related = context.flavor === 'hashicorp' ? parseRelated(relationships, pool) : undefined;
  return {
    ...(name === undefined ? {} : { name }),
    ...(organizationScoped === undefined ? {} : { organizationScoped }),
    ...(allowed === undefined ? {} : { allowed }),
    ...(related === undefined ? {} : { related }),
  };
}

function parseRelationships({ relationships = {} }: JsonObject, { flavor, organization }: PlatformContext): JsonObject {
  if (!isObject(relationships)) throw invalid('must be an object', RELATIONSHIPS);
  const extra = flavor === 'hashicorp' ? ['organization', ...Object.keys(RELATED)] : [];
  refuseUnknown(relationships, ['allowed-workspaces', ...extra], RELATIONSHIPS);
  const owner = relationships.organization;
  const id = isObject(owner) && isObject(owner.data) ? owner.data.id : organization;
  if (id !== organization) throw invalid('belongs to another organization', `${RELATIONSHIPS}/organization`);
  return relationships;
}

function parseName(
  { name }: JsonObject,
  pool: AgentPoolRecord | undefined,
  pools: readonly AgentPoolRecord[],
): string | undefined {
  const pointer = '/data/attributes/name';
  if (name === undefined && pool) return undefined;
  if (typeof name !== 'string' || name === '') throw invalid("Name can't be blank", pointer);
  if (!/^[A-Za-z0-9_-]+$/.test(name)) throw invalid('Name can only include letters, numbers, -, and _', pointer);
  if (pools.some((other) => other !== pool && other.name === name)) {
    throw invalid('Name has already been taken', pointer);
  }
  return name;
}

function parseScope(attributes: JsonObject, pool: AgentPoolRecord | undefined, flavor: Flavor): boolean | undefined {
  const isScoped = attributes['organization-scoped'];
  if (typeof isScoped === 'boolean') return isScoped;
  if (isScoped !== undefined) throw invalid('must be true or false', '/data/attributes/organization-scoped');
  // The specified default on update is true; the real product keeps the old value.
  return pool && flavor === 'hashicorp' ? undefined : true;
}

function parseAllowed(relationships: JsonObject, workspaces: readonly Workspace[]): string[] | undefined {
  const name = 'allowed-workspaces';
  if (relationships[name] === undefined) return undefined;
  const ids = new Set(workspaces.map(({ id }) => id));
  return parseReferences(relationships, name, 'workspaces').map(({ id }, index) => {
    if (ids.has(id)) return id;
    throw invalid('no such workspace', `${RELATIONSHIPS}/${name}/data/${index}/id`);
  });
}

/** What the body does not mention stays. */
function parseRelated(relationships: JsonObject, pool: AgentPoolRecord | undefined): AgentPoolRecord['related'] {
  const sent = Object.entries(RELATED).filter(([name]) => relationships[name] !== undefined);
  const parsed = sent.map(([name, type]) => [name, parseReferences(relationships, name, type)] as const);
  return { ...pool?.related, ...Object.fromEntries(parsed) };
}

function parseReferences(relationships: JsonObject, name: string, type: string): Reference[] {
  const pointer = `${RELATIONSHIPS}/${name}/data`;
  const relation = relationships[name];
  if (!isObject(relation) || !Array.isArray(relation.data)) throw invalid('must be a list', pointer);
  return relation.data.map((item: unknown, index) => {
    if (!isObject(item) || item.type !== type) throw invalid(`type must be ${type}`, `${pointer}/${index}`);
    if (typeof item.id !== 'string') throw invalid(`no such ${type.replace(/s$/, '')}`, `${pointer}/${index}/id`);
    return { id: item.id, type };
  });
}
