import type { RunningSandbox } from '../../sandbox/index.ts';
import type { SecretsContext } from '../../sandbox/secrets/context.ts';

/** What one operation must send, and what must come of it, at a sandbox of its own. */
export interface Case {
  readonly operation: string;
  /** `name=value` words, and options. */
  readonly words: (sandbox: RunningSandbox) => readonly string[];
  readonly body?: (sandbox: RunningSandbox) => unknown;
  readonly method: string;
  /** Decoded path as sent. */
  readonly path: (sandbox: RunningSandbox) => string;
  /** Decoded query as sent. */
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status?: number;
  /** What stdout must be, or hold: parsed JSON, or text. */
  readonly outcome: (response: unknown, text: string, sandbox: RunningSandbox) => unknown;
  /** What differs at the real product; `sends` is the body that goes out. */
  readonly hashicorp?: Partial<Pick<Case, 'path' | 'query' | 'headers'>> & {
    readonly sends?: (sandbox: RunningSandbox) => unknown;
  };
}

const JSON_API = { 'content-type': 'application/vnd.api+json', accept: 'application/vnd.api+json' };
const ORGANIZATION = '/api/v2/organizations/acme';

const state = {
  platform: (sandbox: RunningSandbox) => sandbox.services.platform.state,
  secrets: (sandbox: RunningSandbox): SecretsContext => sandbox.services.secrets.state,
  scheduler: (sandbox: RunningSandbox) => sandbox.services.scheduler.state,
};
const poolNamed = (sandbox: RunningSandbox, name: string) =>
  state.platform(sandbox).pools.find((pool) => pool.name === name)!;
const deadAgent = (sandbox: RunningSandbox) =>
  state.platform(sandbox).agents.find(({ status }) => status === 'errored')!;
const firstView = (sandbox: RunningSandbox) => state.platform(sandbox).views[0]!;
const volume = (sandbox: RunningSandbox, id: string) =>
  [...state.scheduler(sandbox).volumes.values()].find((item) => item.id === id);
const data = (response: unknown): Record<string, unknown> & unknown[] => (response as { data: never }).data;
const attributes = (response: unknown) => data(response).attributes as Record<string, unknown>;
const listKeys = (response: unknown) => (response as { data: { keys: string[] } }).data.keys;

const empty = (response: unknown, status = 204) => JSON.stringify(response) === `{"status":${status}}`;

const platformCases: readonly Case[] = [
  {
    operation: 'platform.agent-pools.list',
    words: () => ['q=e', 'sort=-name', 'include=workspaces', 'page[size]=3', 'page[number]=1'],
    method: 'GET',
    path: () => `${ORGANIZATION}/agent-pools`,
    query: { q: 'e', sort: '-name', include: 'workspaces', 'page[size]': '3', 'page[number]': '1' },
    headers: JSON_API,
    outcome: (response) => data(response).length === 3,
  },
  {
    operation: 'platform.agent-pools.show',
    words: (sandbox) => [`id=${poolNamed(sandbox, 'dmz').id}`, 'include=workspaces'],
    method: 'GET',
    path: (sandbox) => `/api/v2/agent-pools/${poolNamed(sandbox, 'dmz').id}`,
    query: { include: 'workspaces' },
    headers: JSON_API,
    outcome: (response) => attributes(response).name === 'dmz',
  },
  {
    operation: 'platform.agent-pools.create',
    words: () => ['--yes'],
    body: () => ({ data: { type: 'agent-pools', attributes: { name: 'edge_1', 'organization-scoped': false } } }),
    method: 'POST',
    path: () => `${ORGANIZATION}/agent-pools`,
    headers: JSON_API,
    status: 201,
    outcome: (_answer, _text, sandbox) => poolNamed(sandbox, 'edge_1').organizationScoped === false,
  },
  {
    operation: 'platform.agent-pools.update',
    words: (sandbox) => [`id=${poolNamed(sandbox, 'audit').id}`, '--yes'],
    body: () => ({ data: { type: 'agent-pools', attributes: { 'organization-scoped': false } } }),
    method: 'PATCH',
    path: (sandbox) => `/api/v2/agent-pools/${poolNamed(sandbox, 'audit').id}`,
    headers: JSON_API,
    outcome: (_answer, _text, sandbox) => poolNamed(sandbox, 'audit').organizationScoped === false,
  },
  {
    operation: 'platform.agent-pools.delete',
    words: (sandbox) => [`agent_pool_id=${poolNamed(sandbox, 'sandbox-empty').id}`, '--yes'],
    method: 'DELETE',
    path: () => '/api/v2/agent-pools/apool-WFy5fZN2UQhanwGz',
    status: 204,
    outcome: (response, _text, sandbox) => empty(response) && poolNamed(sandbox, 'sandbox-empty') === undefined,
  },
  {
    operation: 'platform.agents.list',
    words: (sandbox) => [
      `agent_pool_id=${poolNamed(sandbox, 'default').id}`,
      'filter[last-ping-since]=2026-09-30T00:00:00Z',
      'page[size]=2',
    ],
    method: 'GET',
    path: (sandbox) => `/api/v2/agent-pools/${poolNamed(sandbox, 'default').id}/agents`,
    query: { 'filter[last-ping-since]': '2026-09-30T00:00:00Z', 'page[size]': '2' },
    headers: JSON_API,
    outcome: (response) => data(response).length > 0 && data(response).length <= 2,
  },
  {
    operation: 'platform.agents.show',
    words: (sandbox) => [`id=${deadAgent(sandbox).id}`],
    method: 'GET',
    path: (sandbox) => `/api/v2/agents/${deadAgent(sandbox).id}`,
    headers: JSON_API,
    outcome: (response) => attributes(response).status === 'errored',
  },
  {
    operation: 'platform.agents.delete',
    words: (sandbox) => [`id=${deadAgent(sandbox).id}`, '--yes'],
    method: 'DELETE',
    path: () => '/api/v2/agents/agent-kppgakbtmSo2SmYL',
    status: 204,
    outcome: (response, _text, sandbox) =>
      empty(response) && state.platform(sandbox).agents.every(({ id }) => id !== 'agent-kppgakbtmSo2SmYL'),
  },
  {
    operation: 'platform.explorer.query',
    words: () => [
      'type=workspaces',
      'filter=drifted:is:true',
      'filter=workspace_name:contains:a',
      'sort=-workspace_name',
      'fields=workspace_name,drifted',
      'page[size]=2',
    ],
    method: 'GET',
    path: () => `${ORGANIZATION}/explorer`,
    query: {
      type: 'workspaces',
      'filter[0][drifted][is][0]': 'true',
      'filter[1][workspace_name][contains][0]': 'a',
      sort: '-workspace_name',
      fields: 'workspace_name,drifted',
      'page[size]': '2',
    },
    headers: JSON_API,
    outcome: (response) =>
      data(response).every((row: unknown) => (row as { attributes: { drifted: boolean } }).attributes.drifted),
  },
  {
    operation: 'platform.explorer.export',
    words: () => ['type=tf_versions', 'filter=version:does not contain:x', 'sort=version'],
    method: 'GET',
    path: () => `${ORGANIZATION}/explorer/export/csv`,
    query: { type: 'tf_versions', 'filter[0][version][does not contain][0]': 'x', sort: 'version' },
    hashicorp: { query: { type: 'tf_versions', 'filter[0][version][does_not_contain][0]': 'x', sort: 'version' } },
    headers: { accept: '*/*' },
    outcome: (_answer, text) =>
      /^(?:unique_identifier,)?version,workspace_count,workspaces/u.test(text.replaceAll('"', '')),
  },
  {
    operation: 'platform.workspaces.list',
    words: () => ['include=current_run,project', 'page[size]=2'],
    method: 'GET',
    path: () => `${ORGANIZATION}/workspaces`,
    query: { include: 'current_run,project', 'page[size]': '2' },
    headers: JSON_API,
    outcome: (response) =>
      data(response).length === 2 && (response as { included: readonly unknown[] }).included.length > 2,
  },
  {
    operation: 'platform.views.list',
    words: () => [],
    method: 'GET',
    path: () => `${ORGANIZATION}/explorer/views`,
    headers: JSON_API,
    outcome: (response) => data(response).length === 8,
  },
  {
    operation: 'platform.views.show',
    words: (sandbox) => [`view_id=${firstView(sandbox).id}`],
    method: 'GET',
    path: (sandbox) => `${ORGANIZATION}/explorer/views/${firstView(sandbox).id}`,
    headers: JSON_API,
    outcome: (response) => attributes(response).name === 'Drifted workspaces',
  },
  {
    operation: 'platform.views.create',
    words: () => ['--yes'],
    body: () => ({
      data: {
        name: 'pinned',
        query_type: 'workspaces',
        query: { type: 'workspaces', filter: [{ field: 'drifted', operator: 'is', value: ['true'] }] },
      },
    }),
    hashicorp: {
      sends: () => ({
        data: {
          type: 'explorer-saved-queries',
          attributes: {
            name: 'pinned',
            'query-type': 'workspaces',
            query: { type: 'workspaces', filter: [{ drifted: { is: ['true'] } }] },
          },
        },
      }),
    },
    method: 'POST',
    path: () => `${ORGANIZATION}/explorer/views`,
    headers: JSON_API,
    outcome: (response, _text, sandbox) =>
      attributes(response).name === 'pinned' && state.platform(sandbox).views.some(({ name }) => name === 'pinned'),
  },
  {
    operation: 'platform.views.update',
    words: (sandbox) => [`view_id=${firstView(sandbox).id}`, '--yes'],
    body: () => ({
      data: {
        name: 'renamed',
        query: {
          type: 'workspaces',
          filter: [{ field: 'workspace_iac_version', operator: 'does not contain', value: ['a'] }],
          fields: ['workspace_name', 'workspace_iac_version'],
          sort: ['-workspace_iac_version'],
        },
      },
    }),
    hashicorp: {
      sends: () => ({
        data: {
          id: 'sq-fdaEdCgbYR5rnorQ',
          type: 'explorer-saved-queries',
          attributes: {
            name: 'renamed',
            query: {
              type: 'workspaces',
              filter: [{ workspace_terraform_version: { does_not_contain: ['a'] } }],
              fields: { workspaces: ['workspace_name', 'workspace_terraform_version'] },
              sort: ['-workspace_terraform_version'],
            },
          },
        },
      }),
    },
    method: 'PATCH',
    path: (sandbox) => `${ORGANIZATION}/explorer/views/${firstView(sandbox).id}`,
    headers: JSON_API,
    outcome: (_answer, _text, sandbox) => firstView(sandbox).name === 'renamed',
  },
  {
    operation: 'platform.views.delete',
    words: (sandbox) => [`view_id=${firstView(sandbox).id}`, '--yes'],
    method: 'DELETE',
    path: () => `${ORGANIZATION}/explorer/views/sq-fdaEdCgbYR5rnorQ`,
    headers: JSON_API,
    outcome: (_answer, _text, sandbox) => firstView(sandbox).name !== 'Drifted workspaces',
  },
  {
    operation: 'platform.views.results',
    words: (sandbox) => [`view_id=${firstView(sandbox).id}`, 'page[size]=1'],
    method: 'GET',
    path: (sandbox) => `${ORGANIZATION}/explorer/views/${firstView(sandbox).id}/results`,
    query: { 'page[size]': '1' },
    headers: JSON_API,
    outcome: (response) => data(response).length === 1,
  },
  {
    operation: 'platform.views.csv',
    words: (sandbox) => [`view_id=${firstView(sandbox).id}`],
    method: 'GET',
    path: (sandbox) => `${ORGANIZATION}/explorer/views/${firstView(sandbox).id}/csv`,
    hashicorp: { path: (sandbox) => `${ORGANIZATION}/explorer/views/${firstView(sandbox).id}/export/csv` },
    headers: { accept: '*/*' },
    outcome: (_answer, text) => text.includes('workspace_name'),
  },
];

const KEY = 'retired-2023-export';
const secretsCases: readonly Case[] = [
  {
    operation: 'secrets.keys.list',
    words: () => [],
    method: 'LIST',
    path: () => '/v1/keymgmt/key',
    outcome: (response) => listKeys(response).includes('署名鍵-東京 🔑'),
  },
  {
    operation: 'secrets.keys.read',
    words: () => ['name=署名鍵-東京 🔑'],
    method: 'GET',
    path: () => '/v1/keymgmt/key/署名鍵-東京 🔑',
    outcome: (response) => data(response).name === '署名鍵-東京 🔑',
  },
  {
    operation: 'secrets.keys.create',
    words: () => ['name=fresh', '--yes'],
    body: () => ({ type: 'ecdsa-p384' }),
    method: 'POST',
    path: () => '/v1/keymgmt/key/fresh',
    outcome: (_answer, _text, sandbox) => state.secrets(sandbox).keys.get('fresh')?.type === 'ecdsa-p384',
  },
  {
    operation: 'secrets.keys.update',
    words: () => ['name=payments-signing', '--yes'],
    body: () => ({ min_enabled_version: 5, deletion_allowed: false }),
    method: 'POST',
    path: () => '/v1/keymgmt/key/payments-signing',
    outcome: (_answer, _text, sandbox) => state.secrets(sandbox).keys.get('payments-signing')?.minEnabledVersion === 5,
  },
  {
    operation: 'secrets.keys.rotate',
    words: () => ['name=ledger-archive', '--yes'],
    method: 'POST',
    path: () => '/v1/keymgmt/key/ledger-archive/rotate',
    outcome: (_answer, _text, sandbox) => state.secrets(sandbox).keys.get('ledger-archive')?.versions.length === 3,
  },
  {
    operation: 'secrets.keys.delete',
    words: () => [`name=${KEY}`, '--yes'],
    method: 'DELETE',
    path: () => `/v1/keymgmt/key/${KEY}`,
    outcome: (_answer, _text, sandbox) => !state.secrets(sandbox).keys.has(KEY),
  },
  {
    operation: 'secrets.keys.providers',
    words: () => ['name=ledger-archive'],
    method: 'LIST',
    path: () => '/v1/keymgmt/key/ledger-archive/kms',
    outcome: (response) => listKeys(response).join() === 'aws-frankfurt',
  },
  {
    operation: 'secrets.kms.list',
    words: () => [],
    method: 'LIST',
    path: () => '/v1/keymgmt/kms',
    outcome: (response) => listKeys(response).length === 6,
  },
  {
    operation: 'secrets.kms.read',
    words: () => ['name=azure-eu'],
    method: 'GET',
    path: () => '/v1/keymgmt/kms/azure-eu',
    outcome: (response) => data(response).provider === 'azurekeyvault',
  },
  {
    operation: 'secrets.kms.write',
    words: () => ['name=new-kms', '--yes'],
    body: () => ({ provider: 'awskms', key_collection: 'eu-west-1', credentials: { secret_key: 'body-secret-1' } }),
    method: 'POST',
    path: () => '/v1/keymgmt/kms/new-kms',
    outcome: (_answer, _text, sandbox) =>
      state.secrets(sandbox).providers.get('new-kms')?.keyCollection === 'eu-west-1',
  },
  {
    operation: 'secrets.kms.delete',
    words: () => ['name=lab-empty', '--yes'],
    method: 'DELETE',
    path: () => '/v1/keymgmt/kms/lab-empty',
    outcome: (_answer, _text, sandbox) => !state.secrets(sandbox).providers.has('lab-empty'),
  },
  {
    operation: 'secrets.kms-keys.list',
    words: () => ['name=lab-empty'],
    method: 'LIST',
    path: () => '/v1/keymgmt/kms/lab-empty/key',
    status: 404,
    outcome: (response) => listKeys(response).length === 0,
  },
  {
    operation: 'secrets.kms-keys.read',
    words: () => ['name=aws-frankfurt', 'key_name=ledger-archive'],
    method: 'GET',
    path: () => '/v1/keymgmt/kms/aws-frankfurt/key/ledger-archive',
    outcome: (response) => String(data(response).purpose) === 'encrypt,decrypt',
  },
  {
    operation: 'secrets.kms-keys.distribute',
    words: () => ['name=lab-empty', `key_name=${KEY}`, '--yes'],
    body: () => ({ purpose: ['sign'], protection: 'hsm' }),
    method: 'POST',
    path: () => `/v1/keymgmt/kms/lab-empty/key/${KEY}`,
    outcome: (_answer, _text, sandbox) => state.secrets(sandbox).providers.get('lab-empty')?.keys.has(KEY),
  },
  {
    operation: 'secrets.kms-keys.remove',
    words: () => ['name=aws-frankfurt', 'key_name=ledger-archive', '--yes'],
    method: 'DELETE',
    path: () => '/v1/keymgmt/kms/aws-frankfurt/key/ledger-archive',
    outcome: (_answer, _text, sandbox) => state.secrets(sandbox).providers.get('aws-frankfurt')?.keys.size === 0,
  },
  {
    operation: 'secrets.mesh-config.write',
    words: () => ['--yes'],
    body: () => ({ address: 'mesh.internal:8500', scheme: 'https', token: 'body-secret-2' }),
    method: 'POST',
    path: () => '/v1/mesh/config/access',
    outcome: (_answer, _text, sandbox) => state.secrets(sandbox).access?.address === 'mesh.internal:8500',
  },
  {
    operation: 'secrets.mesh-roles.list',
    words: () => [],
    method: 'LIST',
    path: () => '/v1/mesh/roles',
    outcome: (response) => listKeys(response).includes('web-read'),
  },
  {
    operation: 'secrets.mesh-roles.read',
    words: () => ['name=legacy-admin'],
    method: 'GET',
    path: () => '/v1/mesh/roles/legacy-admin',
    outcome: (response) => data(response).token_type === 'management',
  },
  {
    operation: 'secrets.mesh-roles.write',
    words: () => ['name=legacy-admin', '--yes'],
    body: () => ({ token_type: 'client', policy: Buffer.from('key_prefix "" {}').toString('base64'), ttl: '1h' }),
    method: 'POST',
    path: () => '/v1/mesh/roles/legacy-admin',
    outcome: (_answer, _text, sandbox) => state.secrets(sandbox).roles.get('legacy-admin')?.tokenType === 'client',
  },
  {
    operation: 'secrets.mesh-roles.delete',
    words: () => ['name=billing', '--yes'],
    method: 'DELETE',
    path: () => '/v1/mesh/roles/billing',
    outcome: (_answer, _text, sandbox) => !state.secrets(sandbox).roles.has('billing'),
  },
  {
    operation: 'secrets.mesh-creds.generate',
    words: () => ['name=web-read', '--yes'],
    method: 'GET',
    path: () => '/v1/mesh/creds/web-read',
    outcome: (response, _text, sandbox) => data(response).token === state.secrets(sandbox).generated.at(-1)?.token,
  },
];

const schedulerCases: readonly Case[] = [
  {
    operation: 'scheduler.policies.list',
    words: () => ['prefix=secrets'],
    method: 'GET',
    path: () => '/v1/acl/policies',
    query: { prefix: 'secrets' },
    outcome: (response) => (response as unknown[]).length === 2,
  },
  {
    operation: 'scheduler.policies.read',
    words: () => ['policy_name=anonymous'],
    method: 'GET',
    path: () => '/v1/acl/policy/anonymous',
    outcome: (response) => (response as { Name: string }).Name === 'anonymous',
  },
  {
    operation: 'scheduler.policies.write',
    words: () => ['policy_name=anonymous', '--yes'],
    body: () => ({
      Name: 'anonymous',
      Rules: 'namespace "default" { policy = "read" }',
      JobACL: { Namespace: 'default', JobID: 'web' },
    }),
    method: 'POST',
    path: () => '/v1/acl/policy/anonymous',
    outcome: (response, _text, sandbox) =>
      empty(response, 200) && state.scheduler(sandbox).policies.get('anonymous')?.jobAcl?.JobID === 'web',
  },
  {
    operation: 'scheduler.policies.delete',
    words: () => ['policy_name=finance', '--yes'],
    method: 'DELETE',
    path: () => '/v1/acl/policy/finance',
    outcome: (_answer, _text, sandbox) => !state.scheduler(sandbox).policies.has('finance'),
  },
  {
    operation: 'scheduler.volumes.list',
    words: () => ['type=csi'],
    method: 'GET',
    path: () => '/v1/volumes',
    query: { type: 'csi', namespace: '*' },
    outcome: (response, _text, sandbox) => (response as unknown[]).length === state.scheduler(sandbox).volumes.size,
  },
  {
    operation: 'scheduler.volumes.read',
    words: () => ['volume_id=lost-reports', 'namespace=prod'],
    method: 'GET',
    path: () => '/v1/volume/csi/lost-reports',
    query: { namespace: 'prod' },
    // Nanoseconds in 64 bits: digit for digit, where a double would round them.
    outcome: (_answer, text) =>
      /"CreateTime": \d{18}[1-9]\d*,?\n/u.test(text) || /"CreateTime": \d{19},?\n/u.test(text),
  },
  {
    operation: 'scheduler.volumes.register',
    words: () => ['volume_id=adopted', '--yes'],
    body: (sandbox) => ({
      Volumes: [
        {
          ID: 'adopted',
          Name: 'adopted',
          PluginID: ebs(sandbox).id,
          ExternalID: orphan(sandbox),
          RequestedCapabilities: [{ AccessMode: 'single-node-writer', AttachmentMode: 'file-system' }],
          Secrets: { password: 'body-secret-3' },
        },
      ],
    }),
    method: 'PUT',
    path: () => '/v1/volume/csi/adopted',
    outcome: (_answer, _text, sandbox) => volume(sandbox, 'adopted') !== undefined,
  },
  {
    operation: 'scheduler.volumes.create',
    words: () => ['volume_id=created', '--yes'],
    body: (sandbox) => ({
      Volumes: [
        {
          ID: 'created',
          Name: 'created',
          PluginID: ebs(sandbox).id,
          RequestedCapacityMin: 1_073_741_824,
          RequestedCapacityMax: 2_147_483_648,
          RequestedCapabilities: [{ AccessMode: 'single-node-writer', AttachmentMode: 'file-system' }],
        },
      ],
    }),
    method: 'PUT',
    path: () => '/v1/volume/csi/created/create',
    outcome: (_answer, _text, sandbox) => volume(sandbox, 'created') !== undefined,
  },
  {
    operation: 'scheduler.volumes.deregister',
    words: () => ['volume_id=missing-media', 'force=true', '--yes'],
    method: 'DELETE',
    path: () => '/v1/volume/csi/missing-media',
    query: { force: 'true' },
    outcome: (_answer, _text, sandbox) => volume(sandbox, 'missing-media') === undefined,
  },
  {
    operation: 'scheduler.volumes.delete',
    words: () => ['volume_id=unschedulable-ml', 'namespace=prod', '--yes'],
    method: 'DELETE',
    path: () => '/v1/volume/csi/unschedulable-ml/delete',
    query: { namespace: 'prod' },
    outcome: (_answer, _text, sandbox) => volume(sandbox, 'unschedulable-ml') === undefined,
  },
  {
    operation: 'scheduler.volumes.detach',
    words: (sandbox) => ['volume_id=lost-cache', `node=${lostNode(sandbox)}`, '--yes'],
    method: 'DELETE',
    path: () => '/v1/volume/csi/lost-cache/detach',
    query: { node: '70ad0615-fcab-02ca-4933-54f4a94c53ea' },
    outcome: (_answer, _text, sandbox) => volume(sandbox, 'lost-cache')?.claims.length === 0,
  },
  {
    operation: 'scheduler.external-volumes.list',
    words: () => ['plugin_id=beefcafe', 'per_page=2', 'next_token='],
    method: 'GET',
    path: () => '/v1/volumes/external',
    query: { plugin_id: 'beefcafe', per_page: '2', next_token: '' },
    outcome: (response) => (response as { Volumes: unknown[] }).Volumes.length === 2,
  },
  {
    operation: 'scheduler.snapshots.list',
    words: () => ['plugin_id=beefcafe', 'per_page=3', 'secrets=user=u,password=query-secret-4'],
    hashicorp: {
      query: { plugin_id: 'beefcafe', per_page: '3' },
      headers: { 'x-nomad-csi-secrets': 'user=u,password=query-secret-4' },
    },
    method: 'GET',
    path: () => '/v1/volumes/snapshot',
    query: { plugin_id: 'beefcafe', per_page: '3', secrets: 'user=u,password=query-secret-4' },
    outcome: (response) => (response as { Snapshots: unknown[] }).Snapshots.length === 3,
  },
  {
    operation: 'scheduler.snapshots.create',
    words: () => ['volume_id=unprotected-ledger', '--yes'],
    body: (sandbox) => ({
      Snapshots: [{ SourceVolumeID: 'unprotected-ledger', PluginID: ebs(sandbox).id, Name: 'now' }],
    }),
    method: 'PUT',
    path: () => '/v1/volumes/snapshot/unprotected-ledger',
    hashicorp: { path: () => '/v1/volumes/snapshot' },
    outcome: (response, _text, sandbox) => {
      const [created] = (response as { Snapshots: { ID: string }[] }).Snapshots;
      return ebs(sandbox).snapshots.has(created?.ID ?? '');
    },
  },
  {
    operation: 'scheduler.snapshots.delete',
    words: (sandbox) => ['plugin_id=beefcafe', `snapshot_id=${snapshotOf(sandbox)}`, '--yes'],
    method: 'DELETE',
    path: () => '/v1/volumes/snapshot',
    outcome: (_answer, _text, sandbox) => state.scheduler(sandbox).plugins.get('beefcafe')?.snapshots.size === 23,
  },
];

/** A plugin whose ID depends on the flavor. */
function ebs(sandbox: RunningSandbox) {
  const { plugins } = state.scheduler(sandbox);
  return (plugins.get('aws-ebs0') ?? plugins.get('eb50'))!;
}

function orphan(sandbox: RunningSandbox): string {
  const { volumes } = state.scheduler(sandbox);
  const registered = new Set([...volumes.values()].map(({ externalId }) => externalId));
  return [...ebs(sandbox).externals.keys()].find((id) => !registered.has(id))!;
}

function lostNode(sandbox: RunningSandbox): string {
  const [claim] = volume(sandbox, 'lost-cache')!.claims;
  return state.scheduler(sandbox).allocations.get(claim!.allocationId)!.nodeId;
}

function snapshotOf(sandbox: RunningSandbox): string {
  return [...state.scheduler(sandbox).plugins.get('beefcafe')!.snapshots.keys()][0]!;
}

const otherCases: readonly Case[] = [
  {
    operation: 'autoscaler.health.read',
    words: () => [],
    method: 'GET',
    path: () => '/v1/health',
    outcome: (response) => empty(response, 200),
  },
  {
    operation: 'autoscaler.metrics.read',
    words: () => [],
    method: 'GET',
    path: () => '/v1/metrics',
    outcome: (response) => Array.isArray((response as { Gauges: unknown }).Gauges),
  },
  {
    operation: 'mesh.connect.authorize',
    words: () => [],
    body: () => ({
      Target: 'billing',
      ClientCertURI: 'spiffe://97196e04-8bb6-07cd-9b2b-501a428735ba.consul/ns/default/dc/dc1/svc/web',
      ClientCertSerial: '04:00:00:00:00:00:00:00',
    }),
    method: 'POST',
    path: () => '/v1/agent/connect/authorize',
    headers: { 'content-type': 'application/json' },
    // A denial is a result: exit 0.
    outcome: (response) => (response as { Authorized: boolean }).Authorized === false,
  },
  {
    operation: 'mesh.ca-roots.read',
    words: () => [],
    method: 'GET',
    path: () => '/v1/agent/connect/ca/roots',
    outcome: (_answer, text) => text.includes('"SerialNumber": 10000000000001235667'),
  },
  {
    operation: 'mesh.ca-leaf.read',
    words: () => ['service=checkout "β", <b>'],
    method: 'GET',
    path: () => '/v1/agent/connect/ca/leaf/checkout "β", <b>',
    outcome: (response) => (response as { PrivateKeyPEM: string }).PrivateKeyPEM.startsWith('-----BEGIN'),
  },
  {
    operation: 'registry.discovery.read',
    words: () => [],
    method: 'GET',
    path: () => '/.well-known/terraform.json',
    outcome: (response) => (response as Record<string, string>)['providers.v1'] === '/v1/providers/',
  },
  {
    operation: 'registry.providers.versions',
    words: () => ['namespace=hashicorp', 'name=aws'],
    method: 'GET',
    path: () => '/v1/providers/hashicorp/aws/versions',
    outcome: (response) => (response as { versions: unknown[] }).versions.length > 500,
  },
  {
    operation: 'registry.providers.read',
    words: () => ['namespace=hashicorp', 'name=aws', 'include=provider-versions'],
    method: 'GET',
    path: () => '/v2/providers/hashicorp/aws',
    query: { include: 'provider-versions' },
    outcome: (response) => (response as { included: unknown[] }).included.length === 500,
  },
  {
    operation: 'registry.modules.versions',
    words: () => ['namespace=terraform-aws-modules', 'name=vpc', 'provider=aws'],
    method: 'GET',
    path: () => '/v1/modules/terraform-aws-modules/vpc/aws/versions',
    outcome: (response) => (response as { modules: { versions: unknown[] }[] }).modules[0]?.versions.length === 3,
  },
];

export const cases: readonly Case[] = [...platformCases, ...secretsCases, ...schedulerCases, ...otherCases];
