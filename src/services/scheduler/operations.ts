import { defineOperation, pathParam, queryParam } from '../operation.ts';
import { combinePermissions, management, namespaceCapability, requirePolicy } from '../permission.ts';
import {
  createSnapshotBody,
  createVolumeBody,
  policyBody,
  registerVolumeBody,
  toHashicorpSecretsHeader,
  toHashicorpSnapshotPath,
  validatePolicy,
  validatePrefixes,
  validateVolumeId,
  validateVolumeList,
} from './bodies.ts';

/** Operations on ACL policies, volumes, external volumes and snapshots. */

const read = { kind: 'scheduler', method: 'GET', mutates: false, retryPolicy: 'safe', reversible: true } as const;
const write = {
  kind: 'scheduler',
  mutates: true,
  retryPolicy: 'if-unprocessed',
  reversible: true,
  responseType: 'any',
} as const;
const DOCS = 'docs/services/scheduler.md';
const WRITE_VOLUME = namespaceCapability('csi-write-volume');
const LIST_VOLUMES = namespaceCapability('csi-list-volume');
const READ_PLUGIN = requirePolicy('plugin', 'read');
/** Nomad's plugins check a right of their own: docs/services/scheduler.md#real-product. */
const WITH_PLUGIN = { hashicorpPermission: combinePermissions(WRITE_VOLUME, READ_PLUGIN) } as const;
const LIST_WITH_PLUGIN = { hashicorpPermission: combinePermissions(LIST_VOLUMES, READ_PLUGIN) } as const;
const policyName = pathParam('name of the policy');
const volumeId = pathParam('full ID of the volume');
/** The API documents do not list it. Nomad needs it unless the volume is in `default`: docs/services/scheduler.md#real-product. */
const namespace = queryParam("the volume's namespace; by default the target's");
/** Nor this. Nomad checks the right to list in it, and lists the volumes of every namespace. */
const namespaceOfRight = queryParam("a namespace in which the token may list volumes; by default the target's");
const nextToken = queryParam('NextToken of the previous page');
const perPage = { ...queryParam('items per page', 'integer'), required: 'spec' } as const;
const pluginId = { ...queryParam('ID of the storage plugin, or a prefix of it'), required: true } as const;
const VOLUME = '/volume/csi/{volume_id}';

export const scheduler = {
  policies: {
    list: defineOperation({
      ...read,
      name: 'scheduler.policies.list',
      path: '/acl/policies',
      description: 'lists the ACL policies, without their rules',
      params: { prefix: queryParam('prefix of the names') },
      responseType: 'array',
      permission: management('; another token sees its own policies only'),
      docsUrl: `${DOCS}#acl-policies`,
      pagination: 'token',
    }),
    read: defineOperation({
      ...read,
      name: 'scheduler.policies.read',
      path: '/acl/policy/{policy_name}',
      description: 'reads an ACL policy',
      params: { policy_name: policyName },
      responseType: 'object',
      permission: management(', or a token that has the policy'),
      docsUrl: `${DOCS}#acl-policies`,
    }),
    write: defineOperation({
      ...write,
      name: 'scheduler.policies.write',
      method: 'POST',
      path: '/acl/policy/{policy_name}',
      description: 'creates or updates an ACL policy',
      params: { policy_name: policyName },
      body: {
        schema: policyBody,
        required: true,
        example: '{"Name": "readonly", "Rules": "namespace \\"default\\" { policy = \\"read\\" }"}',
      },
      validate: validatePolicy,
      permission: management(),
      docsUrl: `${DOCS}#acl-policies`,
    }),
    delete: defineOperation({
      ...write,
      name: 'scheduler.policies.delete',
      method: 'DELETE',
      path: '/acl/policy/{policy_name}',
      description: 'deletes an ACL policy',
      params: { policy_name: policyName },
      permission: management(),
      docsUrl: `${DOCS}#acl-policies`,
    }),
  },
  volumes: {
    list: defineOperation({
      ...read,
      name: 'scheduler.volumes.list',
      path: '/volumes',
      description: 'lists volumes; empty without `type=csi`',
      params: {
        type: queryParam('csi'),
        node_id: queryParam('prefix of a node ID: an even number of hexadecimal characters'),
        plugin_id: queryParam('prefix of a plugin ID'),
        namespace: queryParam("namespace, `*` for all; by default the target's"),
      },
      responseType: 'array',
      validate: validateVolumeList,
      permission: LIST_VOLUMES,
      docsUrl: `${DOCS}#volumes`,
      pagination: 'token',
    }),
    read: defineOperation({
      ...read,
      name: 'scheduler.volumes.read',
      path: VOLUME,
      description: 'reads a volume with its allocations',
      params: { volume_id: volumeId, namespace },
      responseType: 'object',
      permission: namespaceCapability('csi-read-volume'),
      docsUrl: `${DOCS}#volumes`,
    }),
    register: defineOperation({
      ...write,
      name: 'scheduler.volumes.register',
      method: 'PUT',
      path: VOLUME,
      description: 'registers an existing volume of the storage provider',
      params: { volume_id: volumeId, namespace },
      body: {
        schema: registerVolumeBody,
        required: true,
        example: '{"Volumes": [{"ID": "db", "Name": "db", "ExternalID": "vol-1", "PluginID": "aws-ebs0"}]}',
      },
      validate: validateVolumeId('Volumes', 'ID'),
      permission: WRITE_VOLUME,
      ...WITH_PLUGIN,
      docsUrl: `${DOCS}#volumes`,
    }),
    create: defineOperation({
      ...write,
      retryPolicy: 'never',
      name: 'scheduler.volumes.create',
      method: 'PUT',
      path: `${VOLUME}/create`,
      description: 'creates a volume in the storage provider and registers it',
      params: { volume_id: volumeId, namespace },
      body: {
        schema: createVolumeBody,
        required: true,
        example:
          '{"Volumes": [{"ID": "db", "Name": "db", "PluginID": "aws-ebs0", "RequestedCapacityMin": 1073741824}]}',
      },
      validate: validateVolumeId('Volumes', 'ID'),
      permission: WRITE_VOLUME,
      ...WITH_PLUGIN,
      docsUrl: `${DOCS}#volumes`,
    }),
    deregister: defineOperation({
      ...write,
      reversible: false,
      name: 'scheduler.volumes.deregister',
      method: 'DELETE',
      path: VOLUME,
      description: 'deregisters a volume; the storage provider keeps it',
      params: {
        volume_id: volumeId,
        force: queryParam('drop the claims of finished allocations at once', 'boolean'),
        namespace,
      },
      permission: WRITE_VOLUME,
      ...WITH_PLUGIN,
      docsUrl: `${DOCS}#volumes`,
    }),
    delete: defineOperation({
      ...write,
      retryPolicy: 'never',
      reversible: false,
      name: 'scheduler.volumes.delete',
      method: 'DELETE',
      path: `${VOLUME}/delete`,
      description: 'deletes a volume in the storage provider, with its data',
      params: { volume_id: volumeId, namespace },
      permission: WRITE_VOLUME,
      ...WITH_PLUGIN,
      docsUrl: `${DOCS}#volumes`,
    }),
    detach: defineOperation({
      ...write,
      reversible: false,
      name: 'scheduler.volumes.detach',
      method: 'DELETE',
      path: `${VOLUME}/detach`,
      description: 'detaches a volume from a node',
      params: { volume_id: volumeId, node: { ...queryParam('node to detach from'), required: true }, namespace },
      permission: WRITE_VOLUME,
      hashicorpPermission: combinePermissions(namespaceCapability('csi-mount-volume'), READ_PLUGIN),
      docsUrl: `${DOCS}#volumes`,
    }),
  },
  'external-volumes': {
    list: defineOperation({
      ...read,
      name: 'scheduler.external-volumes.list',
      path: '/volumes/external',
      description: 'lists the volumes of the storage provider',
      // Without a plugin, the service of the API documents lists the volumes of all plugins.
      params: {
        plugin_id: { ...pluginId, required: false },
        next_token: nextToken,
        per_page: perPage,
        namespace: namespaceOfRight,
      },
      responseType: 'object',
      itemsPath: 'Volumes',
      validate: validatePrefixes,
      permission: WRITE_VOLUME,
      ...LIST_WITH_PLUGIN,
      docsUrl: `${DOCS}#external-volumes`,
      pagination: 'token',
    }),
  },
  snapshots: {
    list: defineOperation({
      ...read,
      name: 'scheduler.snapshots.list',
      path: '/volumes/snapshot',
      description: 'lists the snapshots of the storage provider',
      params: {
        plugin_id: pluginId,
        next_token: nextToken,
        per_page: perPage,
        secrets: { ...queryParam('key=value pairs for the plugin, comma-separated'), secret: true },
        namespace: namespaceOfRight,
      },
      responseType: 'object',
      itemsPath: 'Snapshots',
      validate: validatePrefixes,
      hashicorp: toHashicorpSecretsHeader,
      permission: LIST_VOLUMES,
      ...LIST_WITH_PLUGIN,
      docsUrl: `${DOCS}#snapshots`,
      pagination: 'token',
    }),
    create: defineOperation({
      ...write,
      retryPolicy: 'never',
      name: 'scheduler.snapshots.create',
      method: 'PUT',
      path: '/volumes/snapshot/{volume_id}',
      description: 'creates a snapshot of a volume with each call',
      params: { volume_id: volumeId, namespace },
      body: {
        schema: createSnapshotBody,
        required: true,
        example: '{"Snapshots": [{"SourceVolumeID": "db", "PluginID": "aws-ebs0", "Name": "nightly"}]}',
      },
      validate: validateVolumeId('Snapshots', 'SourceVolumeID'),
      hashicorp: toHashicorpSnapshotPath,
      permission: WRITE_VOLUME,
      ...WITH_PLUGIN,
      docsUrl: `${DOCS}#snapshots`,
    }),
    delete: defineOperation({
      ...write,
      retryPolicy: 'never',
      reversible: false,
      name: 'scheduler.snapshots.delete',
      method: 'DELETE',
      path: '/volumes/snapshot',
      description: 'deletes a snapshot in the storage provider',
      params: { plugin_id: pluginId, snapshot_id: { ...queryParam('ID of the snapshot'), required: true } },
      validate: validatePrefixes,
      permission: WRITE_VOLUME,
      ...WITH_PLUGIN,
      docsUrl: `${DOCS}#snapshots`,
    }),
  },
} as const;
