/**
 * Method and path of every endpoint of the API documents, with their parameter names. Kept apart from the declarations, so that a
 * missing one is found.
 */
export const platformEndpoints = [
  'GET /organizations/:organization_name/agent-pools',
  'GET /agent-pools/:agent_pool_id/agents',
  'GET /agent-pools/:id',
  'GET /agents/:id',
  'DELETE /agents/:id',
  'POST /organizations/:organization_name/agent-pools',
  'PATCH /agent-pools/:id',
  'DELETE /agent-pools/:agent_pool_id',
  'GET /organizations/:organization_name/explorer',
  'GET /organizations/:organization_name/explorer/export/csv',
  'GET /organizations/:organization_name/workspaces',
  'GET /organizations/:organization_name/explorer/views',
  'POST /organizations/:organization_name/explorer/views',
  'GET /organizations/:organization_name/explorer/views/:view_id',
  'PATCH /organizations/:organization_name/explorer/views/:view_id',
  'DELETE /organizations/:organization_name/explorer/views/:view_id',
  'GET /organizations/:organization_name/explorer/views/:view_id/results',
  'GET /organizations/:organization_name/explorer/views/:view_id/csv',
];

export const secretsEndpoints = [
  'POST /keymgmt/key/:name', // create
  'GET /keymgmt/key/:name',
  'LIST /keymgmt/key',
  'POST /keymgmt/key/:name', // update
  'POST /keymgmt/key/:name/rotate',
  'DELETE /keymgmt/key/:name',
  'LIST /keymgmt/key/:name/kms',
  'POST /keymgmt/kms/:name',
  'GET /keymgmt/kms/:name',
  'LIST /keymgmt/kms',
  'DELETE /keymgmt/kms/:name',
  'POST /keymgmt/kms/:name/key/:key_name',
  'GET /keymgmt/kms/:name/key/:key_name',
  'LIST /keymgmt/kms/:name/key',
  'DELETE /keymgmt/kms/:name/key/:key_name',
  'POST /mesh/config/access',
  'POST /mesh/roles/:name',
  'GET /mesh/roles/:name',
  'LIST /mesh/roles',
  'DELETE /mesh/roles/:name',
  'GET /mesh/creds/:name',
];

export const autoscalerEndpoints = ['GET /health', 'GET /metrics'];

export const schedulerEndpoints = [
  'GET /acl/policies',
  'POST /acl/policy/:policy_name',
  'GET /acl/policy/:policy_name',
  'DELETE /acl/policy/:policy_name',
  'GET /volumes',
  'GET /volume/csi/:volume_id',
  'PUT /volume/csi/:volume_id',
  'PUT /volume/csi/:volume_id/create',
  'DELETE /volume/csi/:volume_id',
  'DELETE /volume/csi/:volume_id/delete',
  'DELETE /volume/csi/:volume_id/detach',
  'GET /volumes/external',
  'PUT /volumes/snapshot/:volume_id',
  'DELETE /volumes/snapshot',
  'GET /volumes/snapshot',
];

export const meshEndpoints = [
  'POST /agent/connect/authorize',
  'GET /agent/connect/ca/roots',
  'GET /agent/connect/ca/leaf/:service',
];

export const registryEndpoints = [
  'GET /.well-known/terraform.json',
  'GET /v1/providers/:namespace/:name/versions',
  'GET /v2/providers/:namespace/:name',
  'GET /v1/modules/:namespace/:name/:provider/versions',
];

/** Query parameters of each endpoint by operation; `*` marks required ones. */
export const queryParameters: Readonly<Record<string, readonly string[]>> = {
  'platform.agent-pools.list': [
    'q',
    'sort',
    'page[number]',
    'page[size]',
    'filter[allowed_workspaces][name]',
    'include',
  ],
  'platform.agents.list': ['filter[last-ping-since]', 'page[number]', 'page[size]'],
  'platform.agent-pools.show': ['include'],
  'platform.explorer.query': ['type*', 'sort', 'filter', 'fields', 'page[number]', 'page[size]'],
  'platform.explorer.export': ['type*', 'sort', 'filter', 'fields'],
  'autoscaler.metrics.read': ['format'],
  'scheduler.policies.list': ['prefix'],
  'scheduler.volumes.list': ['type', 'node_id', 'plugin_id'],
  'scheduler.volumes.deregister': ['force'],
  'scheduler.volumes.detach': ['node*'],
  'scheduler.external-volumes.list': ['plugin_id', 'next_token', 'per_page*'],
  'scheduler.snapshots.delete': ['plugin_id*', 'snapshot_id*'],
  'scheduler.snapshots.list': ['plugin_id*', 'next_token', 'per_page*', 'secrets'],
  'mesh.ca-leaf.read': ['ns'],
  'registry.providers.read': ['include'],
};
