import { addHidden, bindRoutes } from '../router.ts';
import { TokenStore } from '../tokens.ts';
import type { Request, Response, Route, Service, ServiceOptions } from '../types.ts';
import { accessRoutes, authorize, refuse } from './access.ts';
import type { SecretsContext } from './context.ts';
import { errorResponse } from './envelope.ts';
import { seedSecrets, tickSecrets } from './estate.ts';
import { keyRoutes } from './keys.ts';
import { providerRoutes } from './kms-providers.ts';
import { credentialRoutes, roleRoutes } from './mesh-roles.ts';

/** The key management engine and the mesh credentials engine of one secrets server. */
export class SecretsService implements Service {
  readonly kind = 'secrets';
  readonly base = '/v1';
  readonly error = wrappedError;
  readonly state: SecretsContext;
  readonly routes: readonly Route[];

  constructor(options: ServiceOptions) {
    const isHashicorp = options.flavor === 'hashicorp';
    const mount = isHashicorp ? 'consul' : 'mesh';
    const tokens = new TokenStore('secrets', options, [isHashicorp ? 'x-vault-token' : 'x-store-token']);
    const records: Omit<SecretsContext, 'tokens'> = {
      ...options,
      mount,
      keys: new Map(),
      providers: new Map(),
      roles: new Map(),
      access: undefined,
      generated: [],
      condition: 'active',
    };
    this.state = addHidden(records, { tokens });
    seedSecrets(this.state);
    const tables = [keyRoutes, providerRoutes, credentialRoutes(mount, options.flavor), roleRoutes(mount)];
    if (isHashicorp) tables.unshift(accessRoutes);
    this.routes = bindRoutes(this.state, ...tables).flatMap(withTrailingSlash);
  }

  authenticate(request: Request, route: Route | undefined): Response | undefined {
    return refuse(route, this.state) ?? authorize(request, route, this.state);
  }

  tick(day: number, now: Date): void {
    tickSecrets(this.state, day, now);
  }
}

/** Vault's clients request a list with a slash at the end. */
function withTrailingSlash(route: Route): Route[] {
  return route.method === 'LIST' ? [route, { ...route, path: `${route.path}/` }] : [route];
}

/** Vault wraps the errors of its router: docs/services/secrets.md#errors. */
function wrappedError(status: number, message: string): Response {
  const isWrapped = status === 403 || status === 405;
  return errorResponse(status, isWrapped ? `1 error occurred:\n\t* ${message}\n\n` : message);
}
