import { createRandom } from '../random.ts';
import { TokenStore } from '../tokens.ts';
import type { Request, Resource, Response, Route, Service, ServiceOptions, TokenGrant } from '../types.ts';
import { SecretsAccess } from './access.ts';
import { errorResponse } from './envelope.ts';
import { KeyLifecycle, type KeyRecord, Keys, type KmsProviderRecord } from './keys.ts';
import { KmsProviders } from './kms-providers.ts';
import {
  type GeneratedToken,
  type MeshConnection,
  MeshCredentials,
  type MeshRoleRecord,
  MeshRoles,
} from './mesh-roles.ts';
import { seedSecrets } from './seed.ts';
import { type SecretsCondition, SecretsSystem } from './system.ts';
import { tickSecrets } from './tick.ts';

/** The records of all resources. Tests read and damage them. */
export interface SecretsState {
  readonly keys: Map<string, KeyRecord>;
  readonly providers: Map<string, KmsProviderRecord>;
  readonly roles: Map<string, MeshRoleRecord>;
  readonly access: MeshConnection | undefined;
  /** Every token that was generated, oldest first. */
  readonly generated: readonly GeneratedToken[];
  /** Whether the server answers, is sealed, or is a standby without an active node. */
  condition: SecretsCondition;
}

/** The key management engine and the mesh credentials engine of one secrets server. */
export class SecretsService implements Service {
  readonly kind = 'secrets';
  readonly base = '/v1';
  readonly error = wrappedError;
  readonly state: SecretsState;
  readonly routes: readonly Route[];
  readonly #options: ServiceOptions;
  readonly #tokens: TokenStore;
  readonly #access: SecretsAccess;
  readonly #system: SecretsSystem;
  readonly #lifecycle: KeyLifecycle;

  constructor(options: ServiceOptions) {
    const { seed, flavor } = options;
    this.#options = options;
    const isHashicorp = flavor === 'hashicorp';
    this.#tokens = new TokenStore('secrets', options, [isHashicorp ? 'x-vault-token' : 'x-store-token']);
    this.#access = new SecretsAccess(this.#tokens, flavor);
    const system = new SecretsSystem(options);
    this.#system = system;
    this.#lifecycle = new KeyLifecycle(seed);
    const mount = isHashicorp ? 'consul' : 'mesh';
    const roles = new MeshRoles(mount, flavor);
    const access = new MeshCredentials(mount, options, roles.records);
    const { keys, providers } = this.#lifecycle;
    this.state = {
      keys,
      providers,
      roles: roles.records,
      get access() {
        return access.connection;
      },
      generated: access.generated,
      get condition() {
        return system.condition;
      },
      set condition(condition) {
        system.condition = condition;
      },
    };
    seedSecrets(options, this.#lifecycle, roles.records, access);
    const resources: readonly Resource[] = [
      this.#access,
      system,
      new Keys(this.#lifecycle, flavor),
      new KmsProviders(this.#lifecycle, flavor),
      access,
      roles,
    ];
    this.routes = resources.flatMap(({ routes }) => routes.flatMap(withTrailingSlash));
  }

  authenticate(request: Request, route: Route | undefined): Response | undefined {
    return this.#system.refuse(route) ?? this.#access.authorize(request, route);
  }

  createToken(grant: TokenGrant, now: Date): string {
    return this.#tokens.create(grant, now);
  }

  tick(day: number, now: Date): void {
    const random = createRandom(`${this.#options.seed}/secrets/night/${day}`);
    const { estate } = this.#options;
    tickSecrets({ estate, lifecycle: this.#lifecycle, roles: this.state.roles, day, now, random });
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
