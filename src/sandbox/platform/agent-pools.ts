import { createRandom, type Random } from '../prng.ts';
import type { Flavor, Request, Resource, Response, Route, ServiceOptions } from '../types.ts';
import type { Agents } from './agents.ts';
import {
  badParameter,
  documentResponse,
  invalid,
  isJsonObject,
  type JsonObject,
  notFound,
  pageEnvelope,
  parseData,
  parsePage,
  slicePage,
} from './json-api.ts';
import type { Workspace } from './workspaces.ts';

export interface AgentPoolRecord {
  readonly id: string;
  name: string;
  readonly createdAt: number;
  organizationScoped: boolean;
  /** Ids of the workspaces that run in the pool. */
  attached: string[];
  /** Ids of the workspaces that are permitted to. */
  allowed: string[];
}

/** The values that `include` accepts. */
const INCLUDABLE: Readonly<Record<Flavor, readonly string[]>> = {
  spec: ['workspaces'],
  hashicorp: ['workspaces', 'stacks', 'hyok-configurations'],
};

type Verb = 'list' | 'show' | 'create' | 'update';

/** The fields of a create or update body that are present. */
type Body = Partial<Pick<AgentPoolRecord, 'name' | 'organizationScoped' | 'allowed'>>;

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
      { method: 'GET', path: `${one}/agents`, handle: (request) => this.#agents.list(request, this.#find(request).id) },
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
    const pool = this.#find(request);
    return this.#single(200, pool, 'show', this.#included(request, [pool]));
  }

  #create(request: Request): Response {
    const { name = '', organizationScoped = true, allowed = [] } = this.#parseBody(parseData(request), undefined);
    const id = this.#random.id('apool-', 16);
    const pool = { id, name, createdAt: request.now.getTime(), organizationScoped, attached: [], allowed };
    this.records.push(pool);
    return this.#single(201, pool, 'create');
  }

  #update(request: Request): Response {
    const pool = this.#find(request);
    Object.assign(pool, this.#parseBody(parseData(request), pool));
    return this.#single(200, pool, 'update');
  }

  #delete(request: Request): Response {
    const pool = this.#find(request);
    if (pool.attached.length > 0) throw invalid('Agent pool is in use by workspaces', '/data');
    this.records.splice(this.records.indexOf(pool), 1);
    this.#agents.deleteOfPool(pool.id);
    return { status: 204 };
  }

  #find({ params }: Request): AgentPoolRecord {
    const pool = this.records.find(({ id }) => id === params.id);
    if (!pool) throw notFound();
    return pool;
  }

  #filter({ query }: Request): AgentPoolRecord[] {
    const q = query.get('q')?.toLowerCase() ?? '';
    const workspace =
      query.get('filter[allowed_workspaces][name]') ??
      (this.#flavor === 'hashicorp' ? query.get('filter[allowed-workspaces][name]') : null);
    const isUsable = workspace === null ? () => true : this.#usableBy(workspace);
    return this.records.filter((pool) => pool.name.toLowerCase().includes(q) && isUsable(pool));
  }

  /** Whether the named workspace may use a pool: it is scoped to the organization, or allows the workspace. */
  #usableBy(name: string): (pool: AgentPoolRecord) => boolean {
    const ids = new Set(this.#workspaces.filter((workspace) => workspace.name === name).map(({ id }) => id));
    return (pool) => ids.size > 0 && (pool.organizationScoped || pool.allowed.some((id) => ids.has(id)));
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
              'allowed-projects': { data: [] },
              'excluded-workspaces': { data: [] },
              'hyok-configurations': { data: [] },
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

  /** The body of create (no `pool` yet) or update. @throws HttpError 422 */
  #parseBody(data: JsonObject, pool: AgentPoolRecord | undefined): Body {
    if (data.type !== 'agent-pools') throw invalid('type must be agent-pools', '/data/type');
    if (data.attributes !== undefined && !isJsonObject(data.attributes)) {
      throw invalid('must be an object', '/data/attributes');
    }
    if (data.attributes === undefined && !pool) throw invalid('attributes are missing', '/data/attributes');
    const attributes = isJsonObject(data.attributes) ? data.attributes : {};
    const name = this.#parseName(attributes, pool);
    const organizationScoped = this.#parseScope(attributes, pool);
    const allowed = this.#parseAllowed(data);
    return {
      ...(name === undefined ? {} : { name }),
      ...(organizationScoped === undefined ? {} : { organizationScoped }),
      ...(allowed === undefined ? {} : { allowed }),
    };
  }

  #parseName({ name }: JsonObject, pool: AgentPoolRecord | undefined): string | undefined {
    const pointer = '/data/attributes/name';
    if (name === undefined && pool) return undefined;
    if (typeof name !== 'string' || name === '') throw invalid("Name can't be blank", pointer);
    if (!/^[A-Za-z0-9_-]+$/.test(name)) throw invalid('Name can only include letters, numbers, -, and _', pointer);
    if (this.records.some((other) => other !== pool && other.name === name)) {
      throw invalid('Name has already been taken', pointer);
    }
    return name;
  }

  #parseScope(attributes: JsonObject, pool: AgentPoolRecord | undefined): boolean | undefined {
    const isScoped = attributes['organization-scoped'];
    if (typeof isScoped === 'boolean') return isScoped;
    if (isScoped !== undefined) throw invalid('must be true or false', '/data/attributes/organization-scoped');
    // The specified default on update is true; the real product keeps the old value.
    return pool && this.#flavor === 'hashicorp' ? undefined : true;
  }

  #parseAllowed({ relationships }: JsonObject): string[] | undefined {
    const pointer = '/data/relationships/allowed-workspaces/data';
    if (relationships === undefined) return undefined;
    if (!isJsonObject(relationships)) throw invalid('must be an object', '/data/relationships');
    const relation = relationships['allowed-workspaces'];
    if (relation === undefined) return undefined;
    if (!isJsonObject(relation) || !Array.isArray(relation.data)) throw invalid('must be a list', pointer);
    const ids = new Set(this.#workspaces.map(({ id }) => id));
    return relation.data.map((item: unknown, index) => {
      if (!isJsonObject(item) || item.type !== 'workspaces') {
        throw invalid('type must be workspaces', `${pointer}/${index}`);
      }
      if (typeof item.id !== 'string' || !ids.has(item.id))
        throw invalid('no such workspace', `${pointer}/${index}/id`);
      return item.id;
    });
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
