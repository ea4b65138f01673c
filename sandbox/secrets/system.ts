import { createRandom, uuid } from '../random.ts';
import type { Request, Response, Route, RouteTable } from '../types.ts';
import type { SecretsContext } from './context.ts';
import { dataResponse, errorResponse, flatDataResponse, jsonResponse } from './envelope.ts';

/** Its support ended on 2025-10-21. */
export const VAULT_VERSION = '1.20.3';

/** What Vault says about itself, with the flavor of the real products: health, and which engines are mounted where. */
export const systemRoutes: RouteTable<SecretsContext> = {
  'GET /sys/health': { isPublic: true, handle: health },
  'HEAD /sys/health': { isPublic: true, handle: health },
  'GET /sys/seal-status': { isPublic: true, handle: sealStatus },
  'GET /sys/mounts': (request, { seed }) => flatDataResponse(request, listMounts(seed)),
  'GET /sys/internal/ui/mounts': (request, { seed }) =>
    dataResponse(request, { auth: AUTH_MOUNTS, secret: listMounts(seed) }),
};

/** What every other endpoint answers while the server cannot serve. */
export function refuse(route: Route | undefined, { condition }: SecretsContext): Response | undefined {
  if (route?.isPublic || condition === 'active') return undefined;
  if (condition === 'sealed') return errorResponse(503, 'Vault is sealed');
  return errorResponse(503, 'Vault is in standby mode and no active node is known');
}

function health({ now }: Request, { seed, condition }: SecretsContext): Response {
  const random = createRandom(`${seed}/secrets/cluster`);
  /** The statuses of `/sys/health`. */
  const status = { active: 200, standby: 429, sealed: 503 }[condition];
  const body = {
    initialized: true,
    sealed: condition === 'sealed',
    standby: condition !== 'active',
    performance_standby: false,
    replication_performance_mode: 'disabled',
    replication_dr_mode: 'disabled',
    server_time_utc: Math.floor(now.getTime() / 1000),
    version: VAULT_VERSION,
    cluster_name: `vault-cluster-${random.hex(8)}`,
    cluster_id: uuid(random),
  };
  return jsonResponse(status, body);
}

function sealStatus(_request: Request, { condition }: SecretsContext): Response {
  const body = {
    type: 'shamir',
    initialized: true,
    sealed: condition === 'sealed',
    t: 3,
    n: 5,
    progress: 0,
    nonce: '',
    version: VAULT_VERSION,
  };
  return jsonResponse(200, body);
}

function listMounts(seed: number) {
  return {
    'consul/': mount('consul', '', seed),
    'cubbyhole/': { ...mount('cubbyhole', 'per-token private secret storage', seed), local: true },
    'identity/': mount('identity', 'identity store', seed),
    'keymgmt/': mount('keymgmt', '', seed),
    'sys/': mount('system', 'system endpoints used for control, policy and debugging', seed),
  };
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
