/** Calls of `tidemark api` that are refused before anything is sent: one table, a row for each rule. */
export interface WrongCall {
  readonly rule: string;
  readonly words: readonly string[];
  readonly body?: unknown;
  readonly flavor?: 'hashicorp';
  /** Parameter or field that the message must name, and a part of the message. */
  readonly says: readonly [string, string];
}

export const pool = (data: unknown) => ({ data });
const create = ['platform.agent-pools.create', '--yes'];
export const query = (...words: string[]) => ['platform.explorer.query', ...words];
export const role = ['secrets.mesh-roles.write', 'name=r', '--yes'];
const policyWrite = ['scheduler.policies.write', 'policy_name=p', '--yes'];
const policyBody = (jobAcl: unknown) => ({ Name: 'p', Rules: 'r', JobACL: jobAcl });
export const save = ['platform.views.create', '--yes'];

export const wrongCalls: readonly WrongCall[] = [
  { rule: 'a required path parameter', words: ['platform.agents.list'], says: ['agent_pool_id', 'is required'] },
  {
    rule: 'a required query parameter',
    words: ['scheduler.volumes.detach', 'volume_id=v', '--yes'],
    says: ['node', 'is required'],
  },
  { rule: 'an empty required parameter', words: ['platform.agents.show', 'id='], says: ['id', 'is required'] },
  {
    rule: 'an unknown parameter',
    words: ['platform.agents.list', 'agent_pool=x'],
    says: ['agent_pool', 'did you mean agent_pool_id?'],
  },
  {
    rule: 'the organization, which the target names',
    words: ['platform.views.list', 'organization_name=x'],
    says: ['organization_name', 'comes from the target'],
  },
  { rule: 'a parameter given twice', words: ['platform.agents.show', 'id=a', 'id=b'], says: ['id', 'more than once'] },
  {
    rule: 'text that is valid Unicode',
    words: ['platform.agents.show', 'id=a\ud800'],
    says: ['id', 'valid Unicode'],
  },
  {
    rule: 'a whole number',
    words: ['platform.agent-pools.list', 'page[size]=ten'],
    says: ['page[size]', 'whole number'],
  },
  {
    rule: 'a boolean',
    words: ['scheduler.volumes.deregister', 'volume_id=v', 'force=yes', '--yes'],
    says: ['force', 'true or false'],
  },
  {
    rule: 'a timestamp',
    words: ['platform.agents.list', 'agent_pool_id=p', 'filter[last-ping-since]=today'],
    says: ['filter[last-ping-since]', 'ISO 8601'],
  },
  { rule: 'a required body', words: create, says: ['body', 'is required'] },
  {
    rule: 'no body where none is taken',
    words: ['secrets.keys.rotate', 'name=k', '--yes'],
    body: {},
    says: ['body', 'takes none'],
  },
  {
    rule: "create pool's data.type",
    words: create,
    body: pool({ type: 'pools', attributes: { name: 'a' } }),
    says: ['body.data.type', 'must be `agent-pools`'],
  },
  {
    rule: "create pool's name",
    words: create,
    body: pool({ type: 'agent-pools', attributes: {} }),
    says: ['body.data.attributes.name', 'is required'],
  },
  {
    rule: 'the characters of a pool name',
    words: create,
    body: pool({ type: 'agent-pools', attributes: { name: 'a b' } }),
    says: ['body.data.attributes.name', 'letters, numbers'],
  },
  {
    rule: 'the type of an allowed workspace',
    words: create,
    body: pool({
      type: 'agent-pools',
      attributes: { name: 'a' },
      relationships: { 'allowed-workspaces': { data: [{ id: 'ws-1', type: 'workspace' }] } },
    }),
    says: ['body.data.relationships.allowed-workspaces.data[0].type', 'must be `workspaces`'],
  },
  {
    rule: "update pool's data.type",
    words: ['platform.agent-pools.update', 'id=x', '--yes'],
    body: pool({}),
    says: ['body.data.type', 'must be `agent-pools`'],
  },
  { rule: 'the view', words: query('type=stacks'), says: ['type', 'must be one of workspaces'] },
  {
    rule: 'the view `resources`, which only the real product has',
    words: query('type=resources'),
    says: ['type', 'must be one of'],
  },
  {
    rule: 'the form of a filter',
    words: query('type=workspaces', 'filter=drifted'),
    says: ['filter', 'FIELD:OPERATOR:VALUE'],
  },
  {
    rule: 'an operator that exists',
    words: query('type=workspaces', 'filter=workspace_name:like:x'),
    says: ['filter', '`like` is not an operator'],
  },
  {
    rule: 'an operator that suits a boolean',
    words: query('type=workspaces', 'filter=drifted:contains:t'),
    says: ['filter', 'does not apply to drifted, a boolean'],
  },
  {
    rule: 'an operator that suits a field of the real product',
    words: query('type=workspaces', 'filter=tags:gt:3'),
    flavor: 'hashicorp',
    says: ['filter', 'does not apply to tags, a string'],
  },
  {
    rule: 'an operator that suits a number',
    words: query('type=workspaces', 'filter=checks_failed:contains:1'),
    says: ['filter', 'a number'],
  },
  {
    rule: 'an operator that suits text',
    words: query('type=workspaces', 'filter=workspace_name:gt:1'),
    says: ['filter', 'a string'],
  },
  {
    rule: 'an operator that suits a datetime',
    words: query('type=workspaces', 'filter=workspace_created_at:is:x'),
    says: ['filter', 'use is_before, is_after'],
  },
  {
    rule: 'a filter value that suits a boolean',
    words: query('type=workspaces', 'filter=drifted:is:yes'),
    says: ['filter', '`yes` is not a value of drifted: it must be true or false'],
  },
  {
    rule: 'a filter value that suits a number',
    words: query('type=workspaces', 'filter=checks_failed:gt:many'),
    says: ['filter', 'it must be a number'],
  },
  {
    rule: 'a filter value that suits a datetime',
    words: query('type=workspaces', 'filter=workspace_created_at:is_after:yesterday'),
    says: ['filter', 'it must be an ISO 8601 date-time'],
  },
  {
    rule: 'what pools are sorted by',
    words: ['platform.agent-pools.list', 'sort=-agent-count'],
    says: ['sort', 'must be one of name, -name, created-at, -created-at'],
  },
  {
    rule: 'what a list of pools includes',
    words: ['platform.agent-pools.list', 'include=workspaces,stacks'],
    says: ['include', 'must be one of workspaces'],
  },
  {
    rule: 'what a pool of the real product includes',
    words: ['platform.agent-pools.show', 'id=apool-1', 'include=agents'],
    flavor: 'hashicorp',
    says: ['include', 'must be one of workspaces, stacks, hyok-configurations'],
  },
  { rule: 'the format of metrics', words: ['autoscaler.metrics.read', 'format=xml'], says: ['format', 'prometheus'] },
  { rule: 'the type of volumes', words: ['scheduler.volumes.list', 'type=host'], says: ['type', 'must be one of csi'] },
  {
    rule: 'the type of volumes of the real product',
    words: ['scheduler.volumes.list', 'type=dynamic'],
    flavor: 'hashicorp',
    says: ['type', 'must be one of csi, host'],
  },
  {
    rule: 'the last bracket 0',
    words: query('type=workspaces', 'filter[0][drifted][is][1]=true'),
    says: ['filter[0][drifted][is][1]', 'is not filter[INDEX][FIELD][OPERATOR][0]'],
  },
  {
    rule: 'one field to sort by',
    words: query('type=workspaces', 'sort=drifted,modules'),
    says: ['sort', 'takes one field'],
  },
  {
    rule: "a saved view's name",
    words: save,
    body: pool({ query_type: 'workspaces', query: {} }),
    says: ['body.data.name', 'is required'],
  },
  {
    rule: "a saved view's type",
    words: save,
    body: pool({ name: 'n', query_type: 'x', query: {} }),
    says: ['body.data.query_type', 'must be one of'],
  },
  {
    rule: "a saved view's type `resources`, which only the real product has",
    words: save,
    body: pool({ name: 'n', query_type: 'resources', query: {} }),
    says: ['body.data.query_type', 'must be one of workspaces, tf_versions, providers, modules'],
  },
  {
    rule: "the type in a saved view's query",
    words: save,
    body: pool({ name: 'n', query_type: 'workspaces', query: { type: 'modules' } }),
    says: ['body.data.query.type', 'must equal query_type, workspaces'],
  },
  {
    rule: "a saved view's filter values",
    words: save,
    body: pool({
      name: 'n',
      query_type: 'workspaces',
      query: { filter: [{ field: 'checks_failed', operator: 'gt', value: ['0', 'x'] }] },
    }),
    says: ['body.data.query.filter', '`x` is not a value of checks_failed'],
  },
  {
    rule: "a saved view's operators",
    words: save,
    body: pool({
      name: 'n',
      query_type: 'workspaces',
      query: { filter: [{ field: 'drifted', operator: 'gt', value: ['1'] }] },
    }),
    says: ['body.data.query.filter', 'does not apply to drifted'],
  },
  {
    rule: 'the whole query of an updated view',
    words: ['platform.views.update', 'view_id=v', '--yes'],
    body: pool({ name: 'n', query: { filter: [] } }),
    says: ['body.data.query.fields', 'must be a list'],
  },
  {
    rule: 'the type of an updated view, which the real product would otherwise take for another one',
    words: ['platform.views.update', 'view_id=v', '--yes'],
    flavor: 'hashicorp',
    body: pool({ name: 'n', query: { filter: [], fields: ['version'], sort: [] } }),
    says: ['body.data.query.type', 'must be one of workspaces'],
  },
  {
    rule: 'the type of a key',
    words: ['secrets.keys.create', 'name=k', '--yes'],
    body: { type: 'rsa-1024' },
    says: ['body.type', 'must be one of aes256-gcm96'],
  },
  {
    rule: 'what an update of a key sets, by a name that it has',
    words: ['secrets.keys.update', 'name=k', '--yes'],
    body: { min_enabled_versions: 2 },
    says: ['body.min_enabled_version', 'is required, or the other one is'],
  },
  {
    rule: 'a name without a slash',
    words: ['secrets.keys.read', 'name=a/b'],
    flavor: 'hashicorp',
    says: ['name', 'must not contain `/`, as `a/b` does'],
  },
  {
    rule: 'a name that does not end in a dot',
    words: ['secrets.keys.read', 'name=a.'],
    flavor: 'hashicorp',
    says: ['name', 'must not end in `.`'],
  },
  {
    rule: 'a name that is not resolved away',
    words: ['platform.agents.show', 'id=..'],
    says: ['id', 'must not be `.` or `..`'],
  },
  {
    rule: "a provider's fields",
    words: ['secrets.kms.write', 'name=k', '--yes'],
    body: { provider: 'awskms' },
    says: ['body.key_collection', 'is required'],
  },
  {
    rule: "a provider's credentials",
    words: ['secrets.kms.write', 'name=k', '--yes'],
    body: { provider: 'p', key_collection: 'c', credentials: ['x'] },
    says: ['body.credentials', 'must be a map'],
  },
  {
    rule: 'a purpose that is not an empty list',
    words: ['secrets.kms-keys.distribute', 'name=k', 'key_name=k', '--yes'],
    body: { purpose: [] },
    says: ['body.purpose', 'at least one'],
  },
  {
    rule: 'a purpose that is not an empty text',
    words: ['secrets.kms-keys.distribute', 'name=k', 'key_name=k', '--yes'],
    body: { purpose: ' , ' },
    says: ['body.purpose', 'at least one'],
  },
  {
    rule: 'client_cert with client_key',
    words: ['secrets.mesh-config.write', '--yes'],
    body: { address: 'a:1', token: 'tttt', client_cert: 'x' },
    says: ['body.client_key', 'give both'],
  },
  {
    rule: 'client_key with client_cert',
    words: ['secrets.mesh-config.write', '--yes'],
    body: { address: 'a:1', token: 'tttt', client_key: 'xxxx' },
    says: ['body.client_cert', 'give both'],
  },
  {
    rule: 'the address of the mesh system',
    words: ['secrets.mesh-config.write', '--yes'],
    body: { address: 'a', token: 'tttt' },
    says: ['body.address', 'HOST:PORT'],
  },
  {
    rule: 'the token of the mesh system',
    words: ['secrets.mesh-config.write', '--yes'],
    body: { address: 'a:1' },
    says: ['body.token', 'is required'],
  },
  {
    rule: 'a token that is not empty, in either flavor',
    words: ['secrets.mesh-config.write', '--yes'],
    body: { address: 'a:1', token: '' },
    flavor: 'hashicorp',
    says: ['body.token', 'must not be empty'],
  },
  {
    rule: 'a token type',
    words: role,
    body: { token_type: 'root', policies: ['a'] },
    says: ['body.token_type', 'client or management'],
  },
  { rule: 'a base64 policy', words: role, body: { policy: 'key "" {}' }, says: ['body.policy', 'base64'] },
  {
    rule: 'policy or policies',
    words: role,
    body: { token_type: 'client' },
    says: ['body.policy', 'is required unless'],
  },
  {
    rule: 'not both of policy and policies',
    words: role,
    body: { policy: 'YQ==', policies: ['a'] },
    says: ['body.policies', 'either'],
  },
  {
    rule: 'fields of one version: lease',
    words: role,
    body: { policies: 'a,b', lease: '1h', ttl: '1h' },
    says: ['body.lease', 'below 1.4'],
  },
  {
    rule: 'fields of one version: policies as text',
    words: role,
    body: { policies: 'a,b', token_type: 'client' },
    says: ['body.policies', 'below 1.4'],
  },
  { rule: 'policies below version 1.4', words: role, body: { lease: '1h' }, says: ['body.policy', 'is required'] },
  { rule: 'a duration', words: role, body: { policies: ['a'], ttl: 'an hour' }, says: ['body.ttl', 'duration'] },
  {
    rule: 'a duration, which is read once',
    words: role,
    body: { policies: ['a'], ttl: `${'1'.repeat(60)}x` },
    says: ['body.ttl', 'duration'],
  },
  { rule: "a policy's rules", words: policyWrite, body: { Name: 'p' }, says: ['body.Rules', 'is required'] },
  {
    rule: "a policy's name, which is the path's",
    words: policyWrite,
    body: { Name: 'q', Rules: 'r' },
    says: ['body.Name', 'must equal policy_name'],
  },
  {
    rule: 'JobACL with JobID',
    words: policyWrite,
    body: policyBody({ Namespace: 'n' }),
    says: ['body.JobACL.JobID', 'to use JobACL'],
  },
  {
    rule: 'JobACL.Namespace with JobID',
    words: policyWrite,
    body: policyBody({ JobID: 'j' }),
    says: ['body.JobACL.Namespace', 'when JobID'],
  },
  {
    rule: 'JobACL.Group with Task',
    words: policyWrite,
    body: policyBody({ Namespace: 'n', JobID: 'j', Task: 't' }),
    says: ['body.JobACL.Group', 'when Task'],
  },
  {
    rule: "the real product's policy names",
    words: ['scheduler.policies.write', 'policy_name=a_b', '--yes'],
    body: { Name: 'a_b', Rules: 'r' },
    flavor: 'hashicorp',
    says: ['policy_name', 'letters, digits'],
  },
  {
    rule: 'per_page of external volumes',
    words: ['scheduler.external-volumes.list', 'plugin_id=ab'],
    says: ['per_page', 'is required'],
  },
  {
    rule: 'per_page of snapshots',
    words: ['scheduler.snapshots.list', 'plugin_id=ab'],
    says: ['per_page', 'is required'],
  },
  {
    rule: 'plugin_id of snapshots, in either flavor',
    words: ['scheduler.snapshots.list'],
    flavor: 'hashicorp',
    says: ['plugin_id', 'is required'],
  },
  {
    rule: 'a node_id of whole bytes',
    words: ['scheduler.volumes.list', 'node_id=abc'],
    says: ['node_id', 'even number'],
  },
  { rule: 'a hexadecimal node_id', words: ['scheduler.volumes.list', 'node_id=xy'], says: ['node_id', 'hexadecimal'] },
  {
    rule: 'one volume in path and body',
    words: ['scheduler.volumes.register', 'volume_id=v', '--yes'],
    body: { Volumes: [{ ID: 'w' }] },
    says: ['body.Volumes[0].ID', 'must equal volume_id'],
  },
  {
    rule: 'a volume to register',
    words: ['scheduler.volumes.register', 'volume_id=v', '--yes'],
    body: { Volumes: [] },
    says: ['body.Volumes', 'must not be empty'],
  },
  {
    rule: 'one volume in path and snapshot',
    words: ['scheduler.snapshots.create', 'volume_id=v', '--yes'],
    body: { Snapshots: [{ SourceVolumeID: 'w' }] },
    says: ['body.Snapshots[0].SourceVolumeID', 'must equal'],
  },
  {
    rule: 'the fields of an authorization',
    words: ['mesh.connect.authorize'],
    body: { Target: 'db', ClientCertURI: 'spiffe://x' },
    says: ['body.ClientCertSerial', 'is required'],
  },
];
