import { createRandom, uuid } from '../random.ts';
import { addHidden, bindRoutes, textResponse } from '../router.ts';
import { TokenStore } from '../tokens.ts';
import type { Request, Response, Route, Service, ServiceOptions } from '../types.ts';
import { accessRoutes, authorize, authorizeRoutes, liveAuthorizeRoutes, seedIntentions } from './access.ts';
import { holdsLeaf, leafRoutes, renewLeaves, rootRoutes, seedLeaves, seedRoots, tickRoots } from './ca-roots.ts';
import { type MeshContext, rejectNamespaces } from './context.ts';

/** A mesh agent on its node. It does not grow with the scale. */
export class MeshService implements Service {
  readonly kind = 'mesh';
  readonly base = '/v1';
  readonly error = textResponse;
  readonly state: MeshContext;
  readonly routes: readonly Route[];

  constructor(options: ServiceOptions) {
    const random = createRandom(`${options.seed}/mesh/estate`);
    const hidden = { tokens: new TokenStore('mesh', options, ['x-consul-token']), issuer: undefined };
    const records: Omit<MeshContext, keyof typeof hidden> = {
      ...options,
      trustDomain: `${uuid(random)}.consul`,
      roots: [],
      leaves: new Map(),
      intentions: seedIntentions(random),
      index: 40,
      serial: 2n ** 60n + 1n,
    };
    this.state = addHidden(records, hidden);
    seedRoots(this.state, random);
    seedLeaves(this.state);
    const documented = [authorizeRoutes, rootRoutes, leafRoutes];
    const live = [accessRoutes, liveAuthorizeRoutes];
    this.routes =
      options.flavor === 'spec'
        ? bindRoutes(this.state, ...documented)
        : bindRoutes(this.state, ...documented, ...live).map(rejectNamespaces);
  }

  authenticate(request: Request, route: Route | undefined): Response | undefined {
    return authorize(this.state, request, route, holdsLeaf(this.state, request));
  }

  onResponse(response: Response): Response {
    if (this.state.flavor === 'spec') return response;
    return { ...response, headers: { ...response.headers, 'x-consul-default-acl-policy': 'deny' } };
  }

  tick(day: number, now: Date): void {
    tickRoots(this.state, createRandom(`${this.state.seed}/mesh/night/${day}`), now);
    renewLeaves(this.state, now);
  }

  live(now: Date): void {
    renewLeaves(this.state, now);
  }
}
