import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import type { Kind } from '../../sandbox/types.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { type Answer, ask } from '../sandbox/secrets-client.ts';
import { listRecorded, type Recorded, readRecorded } from './recorded.ts';
import { compareShapes, shapeOf } from './shape.ts';

/**
 * The sandbox with the flavor of the real products answers as they do: for each recorded answer the same request, with
 * names of the sandbox, has the same status, headers, members and types.
 */
let sandbox: RunningSandbox;
let client: string;

beforeAll(async () => {
  sandbox = await startTestSandbox({ flavor: 'hashicorp' });
  const rules = { ro: 'namespace "default" { policy = "read" }\nplugin { policy = "read" }' };
  const expiresAt = new Date(sandbox.now.getTime() + 86_400_000);
  client = sandbox.createToken('scheduler', { rules, expiresAt });
  const role = { policies: 'web', ttl: '1h' };
  await send('secrets', 'POST /consul/roles/web', { body: role });
  await send('secrets', 'POST /consul/roles/ops', { body: { token_type: 'management' } });
  await send('secrets', 'POST /consul/roles/x', { body: role });
  await send('scheduler', 'PUT /volume/csi/db/create', { body: CREATE });
  await send('scheduler', 'POST /acl/policy/passing', { body: { Name: 'passing', Rules: DEFAULT_READ } });
  await send('scheduler', 'POST /acl/policy/peculiar', { body: { Name: 'peculiar', Rules: MISSPELT } });
});
afterAll(() => sandbox.close());

function send(kind: Kind, line: string, { body, headers }: { body?: unknown; headers?: Record<string, string> } = {}) {
  return ask(sandbox, kind, line, { body, ...(headers ? { headers } : {}) });
}

const EXTERNAL = 'GET /volumes/external?plugin_id=aws-ebs0';
const SNAPSHOTS = '/volumes/snapshot?plugin_id=aws-ebs0';
const CREATE = {
  Volumes: [
    {
      ID: 'db',
      Name: 'db',
      Namespace: 'default',
      PluginID: 'aws-ebs0',
      RequestedCapacityMin: 1_048_576,
      RequestedCapacityMax: 10_485_760,
      RequestedCapabilities: [{ AccessMode: 'single-node-writer', AttachmentMode: 'file-system' }],
      Parameters: { owner: 'payments' },
      MountOptions: { MountFlags: ['noatime'] },
    },
  ],
};
const SNAPSHOT = { Snapshots: [{ SourceVolumeID: 'postgres-main', PluginID: 'aws-ebs0', Name: 'one' }] };
const DEFAULT_READ = 'namespace "default" { policy = "read" }';
const MISSPELT = 'namespace "default" { polcy = "read" }';

interface Case {
  readonly line: string;
  readonly body?: unknown;
  /** The token; the one with all rights by default. */
  readonly token?: () => string | undefined;
  /** Compare the text of an error, too. */
  readonly text?: true;
  /** Known differences, with the reason. */
  readonly differs?: readonly string[];
}

const unknown = { token: () => 'wrong' } as const;
const limited = { token: () => client } as const;

const NOMAD: Readonly<Record<string, Case>> = {
  'external-list': { line: EXTERNAL },
  'external-list-client-token': { line: EXTERNAL, ...limited },
  'external-list-no-plugin': { line: 'GET /volumes/external', text: true },
  'external-list-per-page-2-no-next-token': { line: 'GET /volumes/external?plugin_id=beefcafe&per_page=2' },
  'external-list-prefix-500': { line: 'GET /volumes/external?plugin_id=aws', text: true },
  'namespaces-list': { line: 'GET /namespaces' },
  'plugins-list': { line: 'GET /plugins?type=csi' },
  'policy-list': { line: 'GET /acl/policies' },
  'policy-list-client-token': { line: 'GET /acl/policies', ...limited },
  'policy-read': { line: 'GET /acl/policy/ro' },
  'policy-read-404': { line: 'GET /acl/policy/none', text: true },
  'policy-write': { line: 'POST /acl/policy/written', body: { Name: 'written', Rules: DEFAULT_READ } },
  'policy-write-bad-rules': {
    line: 'POST /acl/policy/bad',
    body: { Name: 'bad', Rules: 'namespace "default" { policy = "everything" }' },
    text: true,
  },
  'policy-write-other-name': { line: 'POST /acl/policy/x', body: { Name: 'y', Rules: DEFAULT_READ }, text: true },
  'policy-write-unknown-key': {
    line: 'POST /acl/policy/odd',
    body: { Name: 'odd', Rules: MISSPELT },
  },
  'policy-read-unknown-key': { line: 'GET /acl/policy/peculiar' },
  'policy-delete': { line: 'DELETE /acl/policy/passing' },
  'policy-delete-absent': { line: 'DELETE /acl/policy/none' },
  'snapshot-create': { line: 'PUT /volumes/snapshot', body: SNAPSHOT },
  'snapshot-create-same-name': { line: 'PUT /volumes/snapshot', body: SNAPSHOT },
  'snapshot-list': { line: `GET ${SNAPSHOTS}` },
  'snapshot-list-page': { line: `GET ${SNAPSHOTS}&per_page=1` },
  'token-self-bad': { line: 'GET /acl/token/self', text: true, ...unknown },
  'token-self-client': { line: 'GET /acl/token/self', ...limited },
  'token-self-management': { line: 'GET /acl/token/self' },
  'volume-create': { line: 'PUT /volume/csi/db/create', body: CREATE },
  'volume-create-again': { line: 'PUT /volume/csi/db/create', body: CREATE },
  'volume-delete-absent': { line: 'DELETE /volume/csi/none/delete', text: true },
  'volume-delete-in-use': { line: 'DELETE /volume/csi/postgres-main/delete' },
  'volume-deregister-absent': { line: 'DELETE /volume/csi/none', text: true },
  'volume-deregister-in-use': { line: 'DELETE /volume/csi/postgres-main' },
  'volume-deregister': { line: 'DELETE /volume/csi/missing-media' },
  'volume-detach-no-node': { line: 'DELETE /volume/csi/postgres-main/detach', text: true },
  'volume-detach-running-allocation': { line: 'DELETE /volume/csi/postgres-main/detach?node=x', text: true },
  'volume-detach-unclaimed': { line: 'DELETE /volume/csi/db/detach?node=x', text: true },
  'volume-read': { line: 'GET /volume/csi/db' },
  'volume-read-404': { line: 'GET /volume/csi/none', text: true },
  'volume-read-after-detach': { line: 'GET /volume/csi/postgres-main' },
  'volume-read-claimed': { line: 'GET /volume/csi/postgres-main' },
  'volumes-list-all-namespaces': { line: 'GET /volumes?type=csi&namespace=*' },
  'volumes-list-anonymous': { line: 'GET /volumes?type=csi&namespace=*', text: true, token: () => undefined },
  'volumes-list-client-token-one-namespace-of-two': { line: 'GET /volumes?type=csi&namespace=*', ...limited },
  'volumes-list-page': { line: 'GET /volumes?type=csi&namespace=*&per_page=2' },
};

/** Vault 1.3 is old: newer versions have these members, and say more in an error. */
const NEWER_ROLE = ['.data.consul_namespace: added', '.data.partition: added'];
const RENAMED = ['.data.consul_policies: added', '.data.policies: missing'];
const ROLES = '/consul/roles';
const PATHS = ['consul/roles', 'consul/roles/web', 'keymgmt/key'];

const VAULT: Readonly<Record<string, Case>> = {
  'bad-token': { line: `LIST ${ROLES}`, ...unknown, text: true },
  'capabilities-self': {
    line: 'POST /sys/capabilities-self',
    body: { paths: PATHS },
    differs: ['.capabilities: added', '.data.capabilities: added'], // of the first path, since 1.4
  },
  'config-read': { line: 'GET /consul/config/access' },
  'creds-no-role': { line: 'GET /consul/creds/none', text: true },
  creds: { line: 'GET /consul/creds/web', differs: NEWER_ROLE },
  health: { line: 'GET /sys/health', token: () => undefined },
  'lookup-self': { line: 'GET /auth/token/lookup-self' },
  mounts: { line: 'GET /sys/internal/ui/mounts' },
  'no-such-mount': { line: 'LIST /transit/key' },
  'role-delete': { line: `DELETE ${ROLES}/x` },
  'role-read-404': { line: `GET ${ROLES}/none`, text: true },
  'role-read-legacy': { line: `GET ${ROLES}/billing`, differs: NEWER_ROLE },
  'role-read-ops': { line: `GET ${ROLES}/ops`, differs: NEWER_ROLE },
  'role-read-web': { line: `GET ${ROLES}/web`, differs: [...NEWER_ROLE, ...RENAMED] },
  'role-write': { line: `POST ${ROLES}/x`, body: { policies: 'web' } },
  'role-write-bad': { line: `POST ${ROLES}/x`, body: { token_type: 'x' }, text: true },
  'role-write-nothing': { line: `POST ${ROLES}/x`, body: {} },
  'roles-list': { line: `LIST ${ROLES}` },
};

const AUTHORIZE = 'POST /agent/connect/authorize';
const connection = (Target: string, ClientCertURI = 'spiffe://x/ns/default/dc/dc1/svc/web') => ({
  Target,
  ClientCertURI,
  ClientCertSerial: '04:00',
});

const CONSUL: Readonly<Record<string, Case>> = {
  'agent-self-anonymous': { line: 'GET /agent/self', token: () => undefined },
  'authorize-allow': { line: AUTHORIZE, body: connection('api') },
  'authorize-bad': { line: AUTHORIZE, body: connection('api', 'x'), text: true },
  'authorize-deny': { line: AUTHORIZE, body: connection('none') },
  'catalog-services-anonymous': { line: 'GET /catalog/services', token: () => undefined, text: true },
  'catalog-services-full': { line: 'GET /catalog/services', differs: ['.checkout "β", <b>: added'] },
  'catalog-services-service-write-only': {
    line: 'GET /catalog/services',
    token: () => sandbox.createToken('mesh', { rules: { writes: 'service "web" { policy = "write" }' } }),
    text: true,
  },
  'leaf-bad-token-cached': { line: 'GET /agent/connect/ca/leaf/web', ...unknown },
  'leaf-bad-token-uncached': { line: 'GET /agent/connect/ca/leaf/other', ...unknown, text: true },
  'leaf-ns': { line: 'GET /agent/connect/ca/leaf/web?ns=team', text: true },
  'leaf-of-no-service': { line: 'GET /agent/connect/ca/leaf/nothing-registered' },
  leaf: { line: 'GET /agent/connect/ca/leaf/web' },
  roots: { line: 'GET /agent/connect/ca/roots', differs: ['.Roots[].DaysRemaining: added'] }, // in newer versions
  'token-self-bad': { line: 'GET /acl/token/self', ...unknown, text: true },
  'token-self-expired': {
    line: 'GET /acl/token/self',
    token: () => sandbox.createToken('mesh', { expiresAt: new Date(0) }),
    text: true,
  },
  'token-self': { line: 'GET /acl/token/self' },
};

const AUTOSCALER: Readonly<Record<string, Case>> = {
  health: { line: 'GET /health' },
  'metrics-prometheus': { line: 'GET /metrics?format=prometheus' },
  metrics: { line: 'GET /metrics' },
};

const PRODUCTS: readonly (readonly [
  product: string,
  kind: Kind,
  header: string,
  cases: Readonly<Record<string, Case>>,
])[] = [
  ['nomad', 'scheduler', 'x-nomad-token', NOMAD],
  ['vault', 'secrets', 'x-vault-token', VAULT],
  ['consul', 'mesh', 'x-consul-token', CONSUL],
  ['autoscaler', 'autoscaler', 'x-none', AUTOSCALER],
];

describe.each(PRODUCTS)('%s', (product, kind, header, cases) => {
  test('every recorded answer has a case', () => {
    expect(Object.keys(cases).sort()).toEqual(
      listRecorded(product)
        .map(({ name }) => name.slice(product.length + 1))
        .sort(),
    );
  });

  test.each(Object.entries(cases))('%s', async (name, { line, body, token, text, differs = [] }) => {
    const secret = token ? token() : kind === 'autoscaler' ? undefined : sandbox.tokens[kind].write;
    const answer = await send(kind, line, { body, headers: secret === undefined ? {} : { [header]: secret } });
    const recorded = readRecorded(`${product}/${name}`);
    expect(answer.status).toBe(recorded.status);
    expect(missingHeaders(recorded, answer)).toEqual([]);
    if (text) expect(answer.text.trim()).toBe(recorded.body.trim());
    if (!recorded.headers['content-type']?.includes('json') || recorded.body.trim() === '') return;
    const shapes = [JSON.parse(recorded.body), JSON.parse(answer.text)].map(shapeOf);
    expect(compareShapes(shapes[0]!, shapes[1]!)).toEqual([...differs].sort());
  });
});

/** Headers of a proxy or of a cache that the sandbox does not have. */
const NOT_SENT = ['x-consul-query-backend', 'vary', 'date', 'content-length', 'transfer-encoding'];

function missingHeaders({ headers }: Recorded, answer: Answer): string[] {
  return Object.keys(headers).filter((name) => !NOT_SENT.includes(name) && !answer.headers.has(name));
}
