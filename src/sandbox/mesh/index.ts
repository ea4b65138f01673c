import { uuid } from '../fixtures.ts';
import { createRandom } from '../prng.ts';
import { textResponse } from '../responses.ts';
import { TokenStore } from '../tokens.ts';
import type { Request, Resource, Response, Route, Service, ServiceOptions, TokenGrant } from '../types.ts';
import { MeshAccess } from './access.ts';
import { Authorization, type Intention } from './authorize.ts';
import { CA_ROOTS_PATH, type CaRootRecord, CaRoots } from './ca-roots.ts';
import { Catalog } from './catalog.ts';
import { MeshContext } from './context.ts';
import { type Leaf, Leaves, SERVICES } from './leaves.ts';
import { rejectNamespaces } from './namespaces.ts';

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
    const { seed, flavor, start } = options;
    this.#seed = seed;
    this.#isHashicorp = flavor === 'hashicorp';
    this.#tokens = new TokenStore('mesh', options, ['x-consul-token']);
    this.#access = new MeshAccess(this.#tokens, flavor, [CA_ROOTS_PATH]);
    const random = createRandom(`${seed}/mesh/estate`);
    const context = new MeshContext(`${uuid(random)}.consul`);
    const authorization = new Authorization(flavor, random, this.#access);
    this.#roots = new CaRoots(context, flavor, random, start);
    this.#leaves = new Leaves(context, options, this.#access);
    this.state = {
      trustDomain: context.trustDomain,
      roots: this.#roots.records,
      leaves: this.#leaves.records,
      intentions: authorization.intentions,
    };
    const catalog = new Catalog(flavor, this.#access, SERVICES);
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
    for (const [name, rules] of Object.entries(grant.rules ?? {})) this.#access.policies.set(name, rules);
    return this.#tokens.create(grant, now);
  }

  tick(day: number, now: Date): void {
    this.#roots.tick(createRandom(`${this.#seed}/mesh/night/${day}`), now);
    this.#leaves.tick(now);
  }
}
