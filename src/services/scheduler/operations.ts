import { defineOperation, pathParam, queryParam } from '../operation.ts';
import {
  createSnapshotBody,
  createVolumeBody,
  policyBody,
  registerVolumeBody,
  validatePolicy,
  validatePrefixes,
  validateVolumeId,
  validateVolumeList,
} from './bodies.ts';
import { toHashicorpSecretsHeader, toHashicorpSnapshotPath } from './hashicorp.ts';

/** The 15 operations of the scheduler: ACL policies, volumes, external volumes, snapshots. */

const read = { kind: 'scheduler', method: 'GET', mutates: false, retryPolicy: 'read', reversible: true } as const;
const write = {
  kind: 'scheduler',
  mutates: true,
  retryPolicy: 'unsent',
  reversible: true,
  responseType: 'any',
} as const;
const acl = 'scheduler-autoscaler-mesh.md, Endpoints, ACL policies';
const csi = 'scheduler-autoscaler-mesh.md, Endpoints, Volumes';
const MANAGEMENT = 'management';
const WRITE_VOLUME = 'namespace:csi-write-volume';
const policyName = pathParam('name of the policy');
const volumeId = pathParam('full id of the volume');
/** Not in the document: Nomad takes it only from the query where a volume is not in `default` (live-services.md C3). */
const namespace = queryParam("the volume's namespace; by default the target's");
const nextToken = queryParam('NextToken of the page before');
const perPage = { ...queryParam('items a page', 'integer'), required: 'spec' } as const;
const pluginId = { ...queryParam('id of the storage plugin, or its prefix'), required: true } as const;
const VOLUME = '/volume/csi/{volume_id}';

export const scheduler = {
  policies: {
    list: defineOperation({
      ...read,
      name: 'scheduler.policies.list',
      path: '/acl/policies',
      description: 'lists the ACL policies, without their rules',
      params: { prefix: queryParam('beginning of the names') },
      responseType: 'array',
      permission: `${MANAGEMENT}; another token sees its own policies only`,
      docsUrl: `${acl}: List policies`,
      pagination: 'token',
    }),
    read: defineOperation({
      ...read,
      name: 'scheduler.policies.read',
      path: '/acl/policy/{policy_name}',
      description: 'reads an ACL policy',
      params: { policy_name: policyName },
      responseType: 'object',
      permission: `${MANAGEMENT}, or a token that has the policy`,
      docsUrl: `${acl}: Read`,
    }),
    write: defineOperation({
      ...write,
      name: 'scheduler.policies.write',
      method: 'POST',
      path: '/acl/policy/{policy_name}',
      description: 'creates an ACL policy, or updates it',
      params: { policy_name: policyName },
      body: {
        schema: policyBody,
        required: true,
        example: '{"Name": "readonly", "Rules": "namespace \\"default\\" { policy = \\"read\\" }"}',
      },
      validate: validatePolicy,
      permission: MANAGEMENT,
      docsUrl: `${acl}: Create or update; rules 1 to 3`,
    }),
    delete: defineOperation({
      ...write,
      name: 'scheduler.policies.delete',
      method: 'DELETE',
      path: '/acl/policy/{policy_name}',
      description: 'deletes an ACL policy',
      params: { policy_name: policyName },
      permission: MANAGEMENT,
      docsUrl: `${acl}: Delete; rule 3`,
    }),
  },
  volumes: {
    list: defineOperation({
      ...read,
      name: 'scheduler.volumes.list',
      path: '/volumes',
      description: 'lists the volumes; without `type=csi` the list is empty',
      params: {
        type: queryParam('csi'),
        node_id: queryParam('beginning of a node id, an even number of hexadecimal characters'),
        plugin_id: queryParam('beginning of a plugin id'),
        namespace: queryParam("namespace, `*` for all; by default the target's"),
      },
      responseType: 'array',
      validate: validateVolumeList,
      permission: 'namespace:csi-list-volume',
      docsUrl: `${csi}: List volumes; rule 1`,
      pagination: 'token',
    }),
    read: defineOperation({
      ...read,
      name: 'scheduler.volumes.read',
      path: VOLUME,
      description: 'reads a volume with its allocations',
      params: { volume_id: volumeId, namespace },
      responseType: 'object',
      permission: 'namespace:csi-read-volume',
      docsUrl: `${csi}: Read volume`,
    }),
    register: defineOperation({
      ...write,
      name: 'scheduler.volumes.register',
      method: 'PUT',
      path: VOLUME,
      description: 'registers a volume that exists in the storage provider',
      params: { volume_id: volumeId, namespace },
      body: {
        schema: registerVolumeBody,
        required: true,
        example: '{"Volumes": [{"ID": "db", "Name": "db", "ExternalID": "vol-1", "PluginID": "aws-ebs0"}]}',
      },
      validate: validateVolumeId('Volumes', 'ID'),
      permission: WRITE_VOLUME,
      docsUrl: `${csi}: Register volume; rule 4`,
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
      docsUrl: `${csi}: Create volume; rule 3`,
    }),
    deregister: defineOperation({
      ...write,
      name: 'scheduler.volumes.deregister',
      method: 'DELETE',
      path: VOLUME,
      description: 'deregisters a volume; the storage provider keeps it',
      params: {
        volume_id: volumeId,
        force: queryParam('drop claims of ended allocations at once', 'boolean'),
        namespace,
      },
      permission: WRITE_VOLUME,
      docsUrl: `${csi}: Deregister volume; Rules that hold for volumes`,
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
      docsUrl: `${csi}: Delete volume; rule 3`,
    }),
    detach: defineOperation({
      ...write,
      name: 'scheduler.volumes.detach',
      method: 'DELETE',
      path: `${VOLUME}/detach`,
      description: 'detaches a volume from a node',
      params: { volume_id: volumeId, node: { ...queryParam('node to detach from'), required: true }, namespace },
      // Nomad itself asks for csi-mount-volume here (live-services.md C3).
      permission: WRITE_VOLUME,
      docsUrl: `${csi}: Detach volume`,
    }),
  },
  'external-volumes': {
    list: defineOperation({
      ...read,
      name: 'scheduler.external-volumes.list',
      path: '/volumes/external',
      description: 'lists the volumes that the storage provider has',
      params: { plugin_id: pluginId, next_token: nextToken, per_page: perPage },
      responseType: 'object',
      itemsPath: 'Volumes',
      validate: validatePrefixes,
      permission: WRITE_VOLUME,
      docsUrl: `${csi}: List external volumes; rules 1 to 3`,
      pagination: 'token',
    }),
  },
  snapshots: {
    list: defineOperation({
      ...read,
      name: 'scheduler.snapshots.list',
      path: '/volumes/snapshot',
      description: 'lists the snapshots that the storage provider has',
      params: {
        plugin_id: pluginId,
        next_token: nextToken,
        per_page: perPage,
        secrets: { ...queryParam('key=value pairs for the plugin, comma-separated'), secret: true },
      },
      responseType: 'object',
      itemsPath: 'Snapshots',
      validate: validatePrefixes,
      hashicorp: toHashicorpSecretsHeader,
      permission: 'namespace:csi-list-volume',
      docsUrl: `${csi}: List snapshots; rules 1 to 3`,
      pagination: 'token',
    }),
    create: defineOperation({
      ...write,
      retryPolicy: 'never',
      name: 'scheduler.snapshots.create',
      method: 'PUT',
      path: '/volumes/snapshot/{volume_id}',
      description: 'makes a snapshot of a volume, each time it is called',
      params: { volume_id: volumeId, namespace },
      body: {
        schema: createSnapshotBody,
        required: true,
        example: '{"Snapshots": [{"SourceVolumeID": "db", "PluginID": "aws-ebs0", "Name": "nightly"}]}',
      },
      validate: validateVolumeId('Snapshots', 'SourceVolumeID'),
      hashicorp: toHashicorpSnapshotPath,
      permission: WRITE_VOLUME,
      docsUrl: `${csi}: Create snapshot; rule 3`,
    }),
    delete: defineOperation({
      ...write,
      retryPolicy: 'never',
      reversible: false,
      name: 'scheduler.snapshots.delete',
      method: 'DELETE',
      path: '/volumes/snapshot',
      description: 'deletes a snapshot in the storage provider',
      params: { plugin_id: pluginId, snapshot_id: { ...queryParam('id of the snapshot'), required: true } },
      validate: validatePrefixes,
      permission: WRITE_VOLUME,
      docsUrl: `${csi}: Delete snapshot; rules 1 and 3`,
    }),
  },
} as const;
