import { createRandom, uuid } from '../random.ts';
import { jsonResponse, textResponse } from '../responses.ts';
import { TokenStore } from '../tokens.ts';
import type { Flavor, Request, Resource, Response, Route, Service, ServiceOptions, TokenGrant } from '../types.ts';
import { MeshAccess } from './access.ts';
import { Authorization, type Intention } from './authorize.ts';
import { CA_ROOTS_PATH, type CaRootRecord, CaRoots } from './ca-roots.ts';
import { indexHeaders, MeshContext, rejectNamespaces } from './context.ts';
import { type Leaf, Leaves, SERVICES } from './leaves.ts';

/** The records of all resources. Tests read and damage them. */
export interface MeshState {
  readonly trustDomain: string;
  readonly roots: CaRootRecord[];
  readonly leaves: Map<string, Leaf>;
  readonly intentions: readonly Intention[];
}

/** A mesh agent on its node. It does not grow with the scale. */
export class MeshService implements Service {
  readonly kind = 'mesh';
  readonly base = '/v1';
  readonly error = textResponse;
  readonly state: MeshState;
  readonly routes: readonly Route[];
  readonly #seed: number;
  readonly #isHashicorp: boolean;
  readonly #tokens: TokenStore;
  readonly #access: MeshAccess;
  readonly #roots: CaRoots;
  readonly #leaves: Leaves;

  constructor(options: ServiceOptions) {
    const { seed, flavor } = options;
    this.#seed = seed;
    this.#isHashicorp = flavor === 'hashicorp';
    this.#tokens = new TokenStore('mesh', options, ['x-consul-token']);
    this.#access = new MeshAccess(this.#tokens, flavor, [CA_ROOTS_PATH, CATALOG]);
    const random = createRandom(`${seed}/mesh/estate`);
    const context = new MeshContext(`${uuid(random)}.consul`);
    const authorization = new Authorization(flavor, random, this.#access);
    this.#roots = new CaRoots(context, options, random);
    this.#leaves = new Leaves(context, options, this.#access);
    this.state = {
      trustDomain: context.trustDomain,
      roots: this.#roots.records,
      leaves: this.#leaves.records,
      intentions: authorization.intentions,
    };
    const catalog = new Catalog(flavor, this.#access, Object.keys(SERVICES[options.estate]));
    const resources: readonly Resource[] = [this.#access, catalog, authorization, this.#roots, this.#leaves];
    const routes = resources.flatMap((resource) => resource.routes);
    this.routes = flavor === 'hashicorp' ? routes.map(rejectNamespaces) : routes;
  }

  authenticate(request: Request, route: Route | undefined): Response | undefined {
    return this.#access.authorize(request, route, this.#leaves.holds(request));
  }

  onResponse(response: Response): Response {
    if (!this.#isHashicorp) return response;
    return { ...response, headers: { ...response.headers, 'x-consul-default-acl-policy': 'deny' } };
  }

  createToken(grant: TokenGrant, now: Date): string {
    return this.#tokens.create(grant, now);
  }

  tick(day: number, now: Date): void {
    this.#roots.tick(createRandom(`${this.#seed}/mesh/night/${day}`), now);
    this.#leaves.tick(now);
  }

  live(now: Date): void {
    this.#leaves.tick(now);
  }
}

const CATALOG = '/catalog/services';
const NODE = 'node-1';
const SELF = '/agent/self';
/** Its support ended on 2026-05-24. */
export const CONSUL_VERSION = '1.20.5';

/** The services that are registered, with the flavor of the real products: the catalog and the agent's own. */
class Catalog implements Resource {
  readonly #flavor: Flavor;
  readonly #access: MeshAccess;
  readonly #services: readonly string[];

  constructor(flavor: Flavor, access: MeshAccess, services: readonly string[]) {
    this.#flavor = flavor;
    this.#access = access;
    this.#services = services;
  }

  get routes(): readonly Route[] {
    if (this.#flavor === 'spec') return [];
    return [
      { method: 'GET', path: CATALOG, handle: (request) => this.#listCatalog(request) },
      { method: 'GET', path: SELF, handle: (request) => this.#showAgent(request) },
      { method: 'GET', path: '/agent/services', handle: (request) => this.#listAgent(request) },
    ];
  }

  /** The tags of each service by its name. */
  #listCatalog(request: Request): Response {
    const registered = ['consul', ...this.#services];
    const seen = registered.filter((name) => this.#access.seesService(request, name, NODE));
    const isFiltered = seen.length < registered.length && this.#access.tellsFiltered(request);
    const headers = {
      ...indexHeaders(40),
      'x-consul-effective-consistency': 'leader',
      ...(isFiltered ? { 'x-consul-results-filtered-by-acls': 'true' } : {}),
    };
    return jsonResponse(Object.fromEntries(seen.map((name) => [name, []])), headers);
  }

  #showAgent(request: Request): Response {
    this.#access.requireAgent(request, NODE);
    const config = { Datacenter: 'dc1', NodeName: NODE, Revision: '', Server: true, Version: CONSUL_VERSION };
    return jsonResponse({ Config: config, DebugConfig: { VersionMetadata: '' }, Member: { Name: NODE } });
  }

  #listAgent(request: Request): Response {
    const seen = this.#services.filter((name) => this.#access.seesService(request, name));
    const entries = seen.map((name) => {
      return [
        name,
        { ID: name, Service: name, Tags: [], Meta: {}, Port: 8080, Address: '', Datacenter: 'dc1' },
      ] as const;
    });
    return jsonResponse(Object.fromEntries(entries));
  }
}
