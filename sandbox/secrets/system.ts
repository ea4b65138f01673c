import { createRandom, uuid } from '../random.ts';
import type { Request, Resource, Response, Route, ServiceOptions } from '../types.ts';
import { dataResponse, errorResponse, flatDataResponse, jsonResponse } from './envelope.ts';

/** `active` answers; a test sets the others. */
export type SecretsCondition = 'active' | 'standby' | 'sealed';

/** The statuses of `/sys/health`. */
const STATUS: Readonly<Record<SecretsCondition, number>> = { active: 200, standby: 429, sealed: 503 };
/** Its support ended on 2025-10-21. */
export const VAULT_VERSION = '1.20.3';

/** What Vault says about itself, with the flavor of the real products: health, and which engines are mounted where. */
export class SecretsSystem implements Resource {
  condition: SecretsCondition = 'active';
  readonly #seed: number;
  readonly #isHashicorp: boolean;

  constructor({ seed, flavor }: ServiceOptions) {
    this.#seed = seed;
    this.#isHashicorp = flavor === 'hashicorp';
  }

  get routes(): readonly Route[] {
    if (!this.#isHashicorp) return [];
    const health = { path: '/sys/health', isPublic: true, handle: (request: Request) => this.#health(request) };
    const seal = { path: '/sys/seal-status', isPublic: true, handle: () => this.#sealStatus() };
    const mounts = (request: Request) => dataResponse(request, { auth: AUTH_MOUNTS, secret: this.#mounts() });
    return [
      { method: 'GET', ...health },
      { method: 'HEAD', ...health },
      { method: 'GET', ...seal },
      { method: 'GET', path: '/sys/mounts', handle: (request) => flatDataResponse(request, this.#mounts()) },
      { method: 'GET', path: '/sys/internal/ui/mounts', handle: mounts },
    ];
  }

  /** What every other endpoint answers while the server cannot serve. */
  refuse(route: Route | undefined): Response | undefined {
    if (route?.isPublic || this.condition === 'active') return undefined;
    if (this.condition === 'sealed') return errorResponse(503, 'Vault is sealed');
    return errorResponse(503, 'Vault is in standby mode and no active node is known');
  }

  #health({ now }: Request): Response {
    const random = createRandom(`${this.#seed}/secrets/cluster`);
    const body = {
      initialized: true,
      sealed: this.condition === 'sealed',
      standby: this.condition !== 'active',
      performance_standby: false,
      replication_performance_mode: 'disabled',
      replication_dr_mode: 'disabled',
      server_time_utc: Math.floor(now.getTime() / 1000),
      version: VAULT_VERSION,
      cluster_name: `vault-cluster-${random.hex(8)}`,
      cluster_id: uuid(random),
    };
    return jsonResponse(STATUS[this.condition], body);
  }

  #sealStatus(): Response {
    const body = {
      type: 'shamir',
      initialized: true,
      sealed: this.condition === 'sealed',
      t: 3,
      n: 5,
      progress: 0,
      nonce: '',
      version: VAULT_VERSION,
    };
    return jsonResponse(200, body);
  }

  #mounts() {
    return {
      'consul/': mount('consul', '', this.#seed),
      'cubbyhole/': { ...mount('cubbyhole', 'per-token private secret storage', this.#seed), local: true },
      'identity/': mount('identity', 'identity store', this.#seed),
      'keymgmt/': mount('keymgmt', '', this.#seed),
      'sys/': mount('system', 'system endpoints used for control, policy and debugging', this.#seed),
    };
  }
}

const CONFIG = { default_lease_ttl: 0, force_no_cache: false, max_lease_ttl: 0 };
const AUTH_MOUNTS = {
  'token/': {
    ...mount('token', 'token based credentials', 0),
    config: { ...CONFIG, token_type: 'default-service' },
  },
};

function mount(type: string, description: string, seed: number) {
  const random = createRandom(`${seed}/secrets/mount/${type}`);
  return {
    accessor: `${type}_${random.hex(8)}`,
    config: CONFIG,
    description,
    external_entropy_access: false,
    local: false,
    options: null,
    seal_wrap: false,
    type,
    uuid: uuid(random),
  };
}
