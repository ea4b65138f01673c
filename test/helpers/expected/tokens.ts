import type { RunningSandbox } from '../../../sandbox/index.ts';
import { CONSUL_VERSION } from '../../../sandbox/mesh/index.ts';
import { ENTITLEMENTS } from '../../../sandbox/platform/index.ts';
import { createRandom } from '../../../sandbox/random.ts';
import { NOMAD_VERSION } from '../../../sandbox/scheduler/index.ts';
import { VAULT_VERSION } from '../../../sandbox/secrets/index.ts';
import { type TokenRecord, TokenStore } from '../../../sandbox/tokens.ts';
import type { Flavor } from '../../../sandbox/types.ts';
import { DAY_MS } from '../../../src/core/clock.ts';
import { type Tables, time } from './values.ts';

type TokenKind = 'platform' | 'secrets' | 'scheduler' | 'mesh';

/** The paths that the operations of the secrets service use, as policies name them. */
const SECRETS_PATHS = [
  'keymgmt/key',
  'keymgmt/key/+',
  'keymgmt/key/+/rotate',
  'keymgmt/key/+/kms',
  'keymgmt/kms',
  'keymgmt/kms/+',
  'keymgmt/kms/+/key',
  'keymgmt/kms/+/key/+',
  'consul/config/access',
  'consul/roles',
  'consul/roles/+',
  'consul/creds/+',
];

/** The read tokens of the sandbox, and its servers; no token itself is in a row. The documented services have no endpoint that describes one. */
export function tokenTables(sandbox: RunningSandbox, flavor: Flavor): Tables {
  if (flavor === 'spec') return { tokens: [], servers: [] };
  const start = new Date(sandbox.now.getTime() - sandbox.day * DAY_MS);
  const find = (kind: TokenKind): TokenRecord =>
    new TokenStore(kind, { seed: 1, start }, []).records.get(sandbox.tokens[kind].read)!;
  const common = {
    policies: [],
    roles: [],
    is_management: false,
    rights: null,
    sees_every_namespace: null,
    expires_at: null,
    created_at: null,
  };
  const acl = ({ accessor, name, createdAt }: TokenRecord) => ({
    accessor_id: accessor,
    name,
    created_at: time(createdAt),
  });
  const secrets = find('secrets');
  const platform = find('platform');
  const server = (of: string, kind: string, product: string, version: string | null) => ({
    target: of,
    kind,
    product,
    version,
    note: null,
  });
  return {
    servers: [
      server('acme', 'platform', 'hcp-terraform', null),
      server('vault', 'secrets', 'vault', VAULT_VERSION),
      server('nomad', 'scheduler', 'nomad', NOMAD_VERSION),
      server('scaler', 'autoscaler', 'nomad-autoscaler', null),
      server('consul', 'mesh', 'consul', CONSUL_VERSION),
    ],
    tokens: [
      {
        ...common,
        target: 'acme',
        accessor_id: createRandom(platform.accessor).id('user-', 16),
        name: 'sandbox-read',
        type: 'user',
        is_management: null,
        rights: Object.fromEntries(ENTITLEMENTS.map((name) => [name, true])),
        extra: {
          'is-service-account': false,
          'auth-method': 'hcp_sso',
          'v2-only': true,
          permissions: {
            'can-create-organizations': false,
            'can-change-email': false,
            'can-change-username': false,
          },
        },
      },
      {
        ...common,
        target: 'vault',
        accessor_id: createRandom(secrets.accessor).id('', 24),
        name: 'token-sandbox-read',
        type: 'service',
        policies: ['default', 'sandbox-read'],
        rights: Object.fromEntries(SECRETS_PATHS.map((path) => [path, ['list', 'read']])),
        created_at: time(secrets.createdAt),
        extra: {
          creation_ttl: 0,
          explicit_max_ttl: 0,
          orphan: true,
          path: 'auth/token/create',
          renewable: false,
        },
      },
      {
        ...common,
        target: 'nomad',
        ...acl(find('scheduler')),
        type: 'management',
        is_management: true,
        extra: { Global: true },
      },
      {
        ...common,
        target: 'consul',
        ...acl(find('mesh')),
        type: 'client',
        policies: ['sandbox-read'],
        extra: { Local: false },
      },
    ],
  };
}
