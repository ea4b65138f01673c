import { createRandom, type Random } from '../random.ts';
import type { Flavor, Request, Resource, Response, Route, ServiceOptions } from '../types.ts';
import { type AgentPoolRecord, type PoolBodyContext, parsePoolBody, RELATED } from './agent-pool-body.ts';
import type { Agents } from './agents.ts';
import {
  badParameter,
  documentResponse,
  findRecord,
  invalid,
  type JsonObject,
  pageEnvelope,
  parseData,
  parsePage,
  refuseUnknownParameters,
  slicePage,
} from './json-api.ts';
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
export class AgentPools implements Resource {
  readonly records: AgentPoolRecord[] = [];
  readonly #organization: string;
  readonly #flavor: Flavor;
  readonly #random: Random;
  readonly #workspaces: readonly Workspace[];
  readonly #agents: Agents;

  constructor(
    organization: string,
    { seed, flavor }: ServiceOptions,
    workspaces: readonly Workspace[],
    agents: Agents,
  ) {
    this.#organization = organization;
    this.#flavor = flavor;
    this.#random = createRandom(`${seed}/platform/new-pools`);
    this.#workspaces = workspaces;
    this.#agents = agents;
  }

  get routes(): readonly Route[] {
    const all = '/organizations/:organization/agent-pools';
    const one = '/agent-pools/:id';
    return [
      { method: 'GET', path: all, handle: (request) => this.#list(request) },
      { method: 'POST', path: all, writes: true, handle: (request) => this.#create(request) },
      { method: 'GET', path: one, handle: (request) => this.#show(request) },
      { method: 'PATCH', path: one, writes: true, handle: (request) => this.#update(request) },
      { method: 'DELETE', path: one, writes: true, handle: (request) => this.#delete(request) },
      {
        method: 'GET',
        path: `${one}/agents`,
        handle: (request) => this.#agents.list(request, findRecord(this.records, request).id),
      },
    ];
  }

  #list(request: Request): Response {
    const page = parsePage(request);
    const found = sortPools(request, this.#filter(request));
    const pools = slicePage(found, page);
    const { links, meta } = pageEnvelope(request, page, found.length);
    return documentResponse(200, {
      data: pools.map((pool) => this.#document(pool, 'list')),
      ...this.#included(request, pools),
      links,
      meta: { ...meta, 'status-counts': { total: this.records.length, matching: found.length } },
    });
  }

  #show(request: Request): Response {
    const pool = findRecord(this.records, request);
    return this.#single(200, pool, 'show', this.#included(request, [pool]));
  }

  #create(request: Request): Response {
    const fields = parsePoolBody(parseData(request), undefined, this.#bodyContext);
    const { name = '', organizationScoped = true, allowed = [], related = {} } = fields;
    const id = this.#random.id('apool-', 16);
    const pool = { id, name, createdAt: request.now.getTime(), organizationScoped, attached: [], allowed, related };
    this.records.push(pool);
    return this.#single(201, pool, 'create');
  }

  #update(request: Request): Response {
    const pool = findRecord(this.records, request);
    Object.assign(pool, parsePoolBody(parseData(request), pool, this.#bodyContext));
    return this.#single(200, pool, 'update');
  }

  #delete(request: Request): Response {
    const pool = findRecord(this.records, request);
    if (pool.attached.length > 0) throw invalid('Agent pool is in use by workspaces', '/data');
    this.records.splice(this.records.indexOf(pool), 1);
    this.#agents.deleteOfPool(pool.id);
    return { status: 204 };
  }

  get #bodyContext(): PoolBodyContext {
    const { records: pools } = this;
    return { flavor: this.#flavor, organization: this.#organization, pools, workspaces: this.#workspaces };
  }

  #filter(request: Request): AgentPoolRecord[] {
    refuseUnknownParameters(request, this.#flavor === 'spec' ? PARAMETERS : [...PARAMETERS, ...LIVE_PARAMETERS]);
    const { query } = request;
    const q = query.get('q')?.toLowerCase() ?? '';
    const workspace = findFilter(query, 'workspaces');
    const project = findFilter(query, 'projects');
    return this.records.filter(
      (pool) =>
        pool.name.toLowerCase().includes(q) &&
        (workspace === null || this.#isUsableBy(pool, ({ name }) => name === workspace)) &&
        (project === null || this.#isUsableBy(pool, ({ project: { name } }) => name === project)),
    );
  }

  /** Whether any such workspace may use a pool: it is scoped to the organization, or allows the workspace or its project. */
  #isUsableBy(pool: AgentPoolRecord, test: (workspace: Workspace) => boolean): boolean {
    const projects = new Set((pool.related['allowed-projects'] ?? []).map(({ id }) => id));
    return this.#workspaces
      .filter(test)
      .some(({ id, project }) => pool.organizationScoped || pool.allowed.includes(id) || projects.has(project.id));
  }

  #single(status: number, pool: AgentPoolRecord, verb: Verb, extra: JsonObject = {}): Response {
    return documentResponse(status, { data: this.#document(pool, verb), ...extra });
  }

  /** The specification shows `agent-count` in lists only, and leaves `organization-scoped` out of an update's response. */
  #document(pool: AgentPoolRecord, verb: Verb): JsonObject {
    const isHashicorp = this.#flavor === 'hashicorp';
    const path = `/api/v2/agent-pools/${pool.id}`;
    return {
      id: pool.id,
      type: 'agent-pools',
      attributes: {
        name: pool.name,
        'created-at': formatTime(pool.createdAt),
        ...(isHashicorp || verb !== 'update' ? { 'organization-scoped': pool.organizationScoped } : {}),
        ...(isHashicorp || verb === 'list' ? { 'agent-count': this.#agents.countActive(pool.id) } : {}),
      },
      relationships: {
        agents: { links: { related: `${path}/agents` } },
        'authentication-tokens': { links: { related: `${path}/authentication-tokens` } },
        workspaces: { data: pool.attached.map(workspaceReference) },
        'allowed-workspaces': { data: pool.allowed.map(workspaceReference) },
        ...(isHashicorp
          ? {
              organization: { data: { id: this.#organization, type: 'organizations' } },
              ...Object.fromEntries(Object.keys(RELATED).map((name) => [name, { data: pool.related[name] ?? [] }])),
            }
          : {}),
      },
      links: { self: path },
    };
  }

  /** The member that `include=workspaces` adds: the attached workspaces, each once. */
  #included({ query }: Request, pools: readonly AgentPoolRecord[]): JsonObject {
    const names = (query.get('include') ?? '').split(',').filter((name) => name !== '');
    for (const name of names) {
      if (INCLUDABLE[this.#flavor].includes(name)) continue;
      throw badParameter(`"${name}" is not a valid include parameter`, 'include');
    }
    if (!names.includes('workspaces')) return {};
    const ids = new Set(pools.flatMap(({ attached }) => attached));
    return { included: this.#workspaces.filter(({ id }) => ids.has(id)).map(workspaceDocument) };
  }
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

function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}

function workspaceReference(id: string): JsonObject {
  return { id, type: 'workspaces' };
}

function workspaceDocument({ id, name, createdAt, updatedAt, toolVersion }: Workspace): JsonObject {
  return {
    id,
    type: 'workspaces',
    attributes: {
      name,
      'created-at': formatTime(createdAt),
      'updated-at': formatTime(updatedAt),
      'terraform-version': toolVersion,
    },
    links: { self: `/api/v2/organizations/acme/workspaces/${encodeURIComponent(name)}` },
  };
}
