import { inPath, inQuery, operation } from './operation.ts';
import {
  checkPolicy,
  checkPrefixes,
  checkVolumeId,
  checkVolumeList,
  createSnapshot,
  createVolume,
  policy,
  registerVolume,
} from './scheduler-bodies.ts';
import { hashicorpSecrets, hashicorpSnapshotPath } from './scheduler-flavor.ts';

/** The 15 operations of the scheduler: ACL policies, volumes, external volumes, snapshots. */

const read = { kind: 'scheduler', method: 'GET', changes: false, repeat: 'read', reversible: true } as const;
const write = { kind: 'scheduler', changes: true, repeat: 'unsent', reversible: true, answers: 'any' } as const;
const acl = 'scheduler-autoscaler-mesh.md, Endpoints, ACL policies';
const csi = 'scheduler-autoscaler-mesh.md, Endpoints, Volumes';
const MANAGEMENT = 'management';
const WRITE_VOLUME = 'namespace:csi-write-volume';
const policyName = inPath('name of the policy');
const volumeId = inPath('full id of the volume');
/** Not in the document: Nomad takes it only from the query where a volume is not in `default` (live-services.md C3). */
const namespace = inQuery("the volume's namespace; by default the target's");
const nextToken = inQuery('NextToken of the page before');
const perPage = { ...inQuery('items a page', 'integer'), required: 'documents' } as const;
const pluginId = { ...inQuery('id of the storage plugin, or its prefix'), required: true } as const;
const VOLUME = '/volume/csi/{volume_id}';

export const scheduler = {
  policies: {
    list: operation({
      ...read,
      name: 'scheduler.policies.list',
      path: '/acl/policies',
      about: 'lists the ACL policies, without their rules',
      params: { prefix: inQuery('beginning of the names') },
      answers: 'array',
      permission: `${MANAGEMENT}; another token sees its own policies only`,
      rule: `${acl}: List policies`,
      paging: 'token',
    }),
    read: operation({
      ...read,
      name: 'scheduler.policies.read',
      path: '/acl/policy/{policy_name}',
      about: 'reads an ACL policy',
      params: { policy_name: policyName },
      answers: 'object',
      permission: `${MANAGEMENT}, or a token that has the policy`,
      rule: `${acl}: Read`,
    }),
    write: operation({
      ...write,
      name: 'scheduler.policies.write',
      method: 'POST',
      path: '/acl/policy/{policy_name}',
      about: 'creates an ACL policy, or updates it',
      params: { policy_name: policyName },
      body: {
        schema: policy,
        required: true,
        example: '{"Name": "readonly", "Rules": "namespace \\"default\\" { policy = \\"read\\" }"}',
      },
      check: checkPolicy,
      permission: MANAGEMENT,
      rule: `${acl}: Create or update; rules 1 to 3`,
    }),
    delete: operation({
      ...write,
      name: 'scheduler.policies.delete',
      method: 'DELETE',
      path: '/acl/policy/{policy_name}',
      about: 'deletes an ACL policy',
      params: { policy_name: policyName },
      permission: MANAGEMENT,
      rule: `${acl}: Delete; rule 3`,
    }),
  },
  volumes: {
    list: operation({
      ...read,
      name: 'scheduler.volumes.list',
      path: '/volumes',
      about: 'lists the volumes; without `type=csi` the list is empty',
      params: {
        type: inQuery('csi'),
        node_id: inQuery('beginning of a node id, an even number of hexadecimal characters'),
        plugin_id: inQuery('beginning of a plugin id'),
        namespace: inQuery("namespace, `*` for all; by default the target's"),
      },
      answers: 'array',
      check: checkVolumeList,
      permission: 'namespace:csi-list-volume',
      rule: `${csi}: List volumes; rule 1`,
      paging: 'token',
    }),
    read: operation({
      ...read,
      name: 'scheduler.volumes.read',
      path: VOLUME,
      about: 'reads a volume with its allocations',
      params: { volume_id: volumeId, namespace },
      answers: 'object',
      permission: 'namespace:csi-read-volume',
      rule: `${csi}: Read volume`,
    }),
    register: operation({
      ...write,
      name: 'scheduler.volumes.register',
      method: 'PUT',
      path: VOLUME,
      about: 'registers a volume that exists in the storage provider',
      params: { volume_id: volumeId, namespace },
      body: {
        schema: registerVolume,
        required: true,
        example: '{"Volumes": [{"ID": "db", "Name": "db", "ExternalID": "vol-1", "PluginID": "aws-ebs0"}]}',
      },
      check: checkVolumeId('Volumes', 'ID'),
      permission: WRITE_VOLUME,
      rule: `${csi}: Register volume; rule 4`,
    }),
    create: operation({
      ...write,
      repeat: 'never',
      name: 'scheduler.volumes.create',
      method: 'PUT',
      path: `${VOLUME}/create`,
      about: 'creates a volume in the storage provider and registers it',
      params: { volume_id: volumeId, namespace },
      body: {
        schema: createVolume,
        required: true,
        example:
          '{"Volumes": [{"ID": "db", "Name": "db", "PluginID": "aws-ebs0", "RequestedCapacityMin": 1073741824}]}',
      },
      check: checkVolumeId('Volumes', 'ID'),
      permission: WRITE_VOLUME,
      rule: `${csi}: Create volume; rule 3`,
    }),
    deregister: operation({
      ...write,
      name: 'scheduler.volumes.deregister',
      method: 'DELETE',
      path: VOLUME,
      about: 'deregisters a volume; the storage provider keeps it',
      params: {
        volume_id: volumeId,
        force: inQuery('drop claims of ended allocations at once', 'boolean'),
        namespace,
      },
      permission: WRITE_VOLUME,
      rule: `${csi}: Deregister volume; Rules that hold for volumes`,
    }),
    delete: operation({
      ...write,
      repeat: 'never',
      reversible: false,
      name: 'scheduler.volumes.delete',
      method: 'DELETE',
      path: `${VOLUME}/delete`,
      about: 'deletes a volume in the storage provider, with its data',
      params: { volume_id: volumeId, namespace },
      permission: WRITE_VOLUME,
      rule: `${csi}: Delete volume; rule 3`,
    }),
    detach: operation({
      ...write,
      name: 'scheduler.volumes.detach',
      method: 'DELETE',
      path: `${VOLUME}/detach`,
      about: 'detaches a volume from a node',
      params: { volume_id: volumeId, node: { ...inQuery('node to detach from'), required: true }, namespace },
      // Nomad itself asks for csi-mount-volume here (live-services.md C3).
      permission: WRITE_VOLUME,
      rule: `${csi}: Detach volume`,
    }),
  },
  'external-volumes': {
    list: operation({
      ...read,
      name: 'scheduler.external-volumes.list',
      path: '/volumes/external',
      about: 'lists the volumes that the storage provider has',
      params: { plugin_id: pluginId, next_token: nextToken, per_page: perPage },
      answers: 'object',
      items: 'Volumes',
      check: checkPrefixes,
      permission: WRITE_VOLUME,
      rule: `${csi}: List external volumes; rules 1 to 3`,
      paging: 'token',
    }),
  },
  snapshots: {
    list: operation({
      ...read,
      name: 'scheduler.snapshots.list',
      path: '/volumes/snapshot',
      about: 'lists the snapshots that the storage provider has',
      params: {
        plugin_id: pluginId,
        next_token: nextToken,
        per_page: perPage,
        secrets: { ...inQuery('key=value pairs for the plugin, comma-separated'), secret: true },
      },
      answers: 'object',
      items: 'Snapshots',
      check: checkPrefixes,
      hashicorp: hashicorpSecrets,
      permission: 'namespace:csi-list-volume',
      rule: `${csi}: List snapshots; rules 1 to 3`,
      paging: 'token',
    }),
    create: operation({
      ...write,
      repeat: 'never',
      name: 'scheduler.snapshots.create',
      method: 'PUT',
      path: '/volumes/snapshot/{volume_id}',
      about: 'makes a snapshot of a volume, each time it is called',
      params: { volume_id: volumeId, namespace },
      body: {
        schema: createSnapshot,
        required: true,
        example: '{"Snapshots": [{"SourceVolumeID": "db", "PluginID": "aws-ebs0", "Name": "nightly"}]}',
      },
      check: checkVolumeId('Snapshots', 'SourceVolumeID'),
      hashicorp: hashicorpSnapshotPath,
      permission: WRITE_VOLUME,
      rule: `${csi}: Create snapshot; rule 3`,
    }),
    delete: operation({
      ...write,
      repeat: 'never',
      reversible: false,
      name: 'scheduler.snapshots.delete',
      method: 'DELETE',
      path: '/volumes/snapshot',
      about: 'deletes a snapshot in the storage provider',
      params: { plugin_id: pluginId, snapshot_id: { ...inQuery('id of the snapshot'), required: true } },
      check: checkPrefixes,
      permission: WRITE_VOLUME,
      rule: `${csi}: Delete snapshot; rules 1 and 3`,
    }),
  },
} as const;
