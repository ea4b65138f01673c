import { createRandom } from '../prng.ts';
import { createTokens, grantedAccess, readToken, type Tokens } from '../tokens.ts';
import type { Request, Resource, Response, Route, Service, ServiceOptions } from '../types.ts';
import { errorResponse } from './envelope.ts';
import { KeyLifecycle, type KeyRecord, type KmsProviderRecord } from './key-lifecycle.ts';
import { Keys } from './keys.ts';
import { KmsProviders } from './kms-providers.ts';
import { type GeneratedToken, MeshAccess, type MeshConnection } from './mesh-access.ts';
import { type MeshRoleRecord, MeshRoles } from './mesh-roles.ts';
import { seedSecrets } from './seed.ts';
import { tickSecrets } from './tick.ts';

/** The records of all resources. Tests read and damage them. */
export interface SecretsState {
  readonly keys: Map<string, KeyRecord>;
  readonly providers: Map<string, KmsProviderRecord>;
  readonly roles: Map<string, MeshRoleRecord>;
  readonly access: MeshConnection | undefined;
  /** Every token that was generated, oldest first. */
  readonly generated: readonly GeneratedToken[];
}

/** The key management engine and the mesh credentials engine of one secrets server. */
export class SecretsService implements Service {
  readonly kind = 'secrets';
  readonly base = '/v1';
  readonly error = wrappedError;
  readonly state: SecretsState;
  readonly routes: readonly Route[];
  readonly #options: ServiceOptions;
  readonly #tokens: Tokens;
  readonly #lifecycle: KeyLifecycle;

  constructor(options: ServiceOptions) {
    const { seed, flavor } = options;
    this.#options = options;
    this.#tokens = createTokens('secrets', seed);
    this.#lifecycle = new KeyLifecycle(seed);
    const mount = flavor === 'hashicorp' ? 'consul' : 'mesh';
    const roles = new MeshRoles(mount, flavor);
    const access = new MeshAccess(mount, options, roles.records);
    const { keys, providers } = this.#lifecycle;
    this.state = {
      keys,
      providers,
      roles: roles.records,
      get access() {
        return access.connection;
      },
      generated: access.generated,
    };
    seedSecrets(options, this.#lifecycle, roles.records, access);
    const resources: readonly Resource[] = [
      new Keys(this.#lifecycle, flavor),
      new KmsProviders(this.#lifecycle, flavor),
      access,
      roles,
    ];
    this.routes = resources.flatMap(({ routes }) => routes.flatMap(withTrailingSlash));
  }

  authenticate(request: Request, isWrite: boolean): Response | undefined {
    const header = this.#options.flavor === 'hashicorp' ? 'x-vault-token' : 'x-store-token';
    const access = grantedAccess(readToken(request, header), this.#tokens);
    const isPermitted = access === 'write' || (access === 'read' && !isWrite);
    return isPermitted ? undefined : this.error(403, 'permission denied');
  }

  tick(day: number, now: Date): void {
    const random = createRandom(`${this.#options.seed}/secrets/night/${day}`);
    tickSecrets({ lifecycle: this.#lifecycle, roles: this.state.roles, day, now, random });
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
