import { uuid } from '../fixtures.ts';
import { createRandom } from '../prng.ts';
import { textResponse } from '../responses.ts';
import { createTokens, grantedAccess, readToken, type Tokens } from '../tokens.ts';
import type { Request, Resource, Response, Route, Service, ServiceOptions } from '../types.ts';
import { Authorization, type Intention } from './authorize.ts';
import { CA_ROOTS_PATH, type CaRootRecord, CaRoots } from './ca-roots.ts';
import { MeshContext } from './context.ts';
import { type Leaf, Leaves } from './leaves.ts';
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
  readonly #tokens: Tokens;
  readonly #roots: CaRoots;
  readonly #leaves: Leaves;

  constructor(options: ServiceOptions) {
    const { seed, flavor, start } = options;
    this.#seed = seed;
    this.#tokens = createTokens('mesh', seed);
    const random = createRandom(`${seed}/mesh/estate`);
    const context = new MeshContext(`${uuid(random)}.consul`);
    const authorization = new Authorization(flavor, random);
    this.#roots = new CaRoots(context, flavor, random, start);
    this.#leaves = new Leaves(context, options);
    this.state = {
      trustDomain: context.trustDomain,
      roots: this.#roots.records,
      leaves: this.#leaves.records,
      intentions: authorization.intentions,
    };
    const resources: readonly Resource[] = [authorization, this.#roots, this.#leaves];
    const routes = resources.flatMap((resource) => resource.routes);
    this.routes = flavor === 'hashicorp' ? routes.map(rejectNamespaces) : routes;
  }

  authenticate(request: Request): Response | undefined {
    const token = readToken(request, 'x-consul-token');
    if (grantedAccess(token, this.#tokens) !== undefined) return undefined;
    if (token !== undefined) return textResponse(403, 'ACL not found');
    // The roots need no permission, so an anonymous caller may read them.
    if (request.path === `${this.base}${CA_ROOTS_PATH}`) return undefined;
    return textResponse(403, 'Permission denied: anonymous token lacks permission "service:write"');
  }

  tick(day: number, now: Date): void {
    this.#roots.tick(createRandom(`${this.#seed}/mesh/night/${day}`), now);
    this.#leaves.tick(now);
  }
}
