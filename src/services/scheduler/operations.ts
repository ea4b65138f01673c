import { defineOperations, pathParam, queryParam } from '../operation.ts';
import { permit, type Right } from '../permission.ts';
import * as bodies from './bodies.ts';

const onVolumes = (capability: string): Right => ({ scope: 'namespace', capability });
const MANAGEMENT: Right = { scope: 'management' };
const READ_PLUGIN: Right = { scope: 'plugin', policy: 'read' };
/** Nomad's plugins check a right of their own: docs/services/scheduler.md#volumes. */
const writeVolume = {
  permission: permit(onVolumes('csi-write-volume')),
  hashicorpPermission: permit(onVolumes('csi-write-volume'), READ_PLUGIN),
} as const;
const LIST_VOLUMES = permit(onVolumes('csi-list-volume'));
const LIST_WITH_PLUGIN = permit(onVolumes('csi-list-volume'), READ_PLUGIN);
const policy = {
  path: '/acl/policy/{policy_name}',
  params: { policy_name: pathParam('name of the policy') },
  permission: permit(MANAGEMENT),
  section: 'acl-policies',
} as const;
/** The API documents do not list the namespace. Nomad needs it unless the volume is in `default`: docs/services/scheduler.md. */
const namespace = queryParam("the volume's namespace; by default the target's");
const volume = {
  path: '/volume/csi/{volume_id}',
  params: { volume_id: pathParam('full ID of the volume'), namespace },
} as const;
const create = { ...writeVolume, ...volume, retryPolicy: 'never', method: 'PUT' } as const;
const remove = { ...writeVolume, ...volume, method: 'DELETE' } as const;
const pluginId = { ...queryParam('ID of the storage plugin, or a prefix of it'), required: true } as const;
const pluginPages = {
  next_token: queryParam('NextToken of the previous page'),
  per_page: { ...queryParam('items per page', 'integer'), required: 'spec' },
} as const;
/** The API documents do not list it either. Nomad checks the right to list in it, and lists the volumes of every namespace. */
const namespaceOfRight = queryParam("a namespace in which the token may list volumes; by default the target's");

export const scheduler = defineOperations('scheduler', {
  policies: {
    list: {
      path: '/acl/policies',
      description: 'lists the ACL policies, without their rules',
      params: { prefix: queryParam('prefix of the names') },
      responseType: 'array',
      permission: { text: 'management; another token sees its own policies only', rights: [MANAGEMENT] },
      section: policy.section,
      pagination: 'token',
    },
    read: {
      ...policy,
      description: 'reads an ACL policy',
      permission: { text: 'management, or a token that has the policy', rights: [MANAGEMENT] },
      says: ['Name'],
      describes: { policy_name: ['Name'] },
    },
    write: {
      ...policy,
      method: 'POST',
      description: 'creates or updates an ACL policy',
      body: bodies.policy,
      validate: bodies.validatePolicy,
    },
    delete: { ...policy, method: 'DELETE', reversible: true, description: 'deletes an ACL policy' },
  },
  volumes: {
    list: {
      path: '/volumes',
      description: 'lists volumes; empty without `type=csi`',
      params: {
        // The API documents have `csi` alone.
        type: { ...queryParam('csi'), values: ['csi'], hashicorpValues: ['csi', 'host'] },
        node_id: queryParam('prefix of a node ID: an even number of hexadecimal characters'),
        plugin_id: queryParam('prefix of a plugin ID'),
        namespace: queryParam("namespace, `*` for all; by default the target's"),
      },
      responseType: 'array',
      validate: bodies.validatePluginOfList,
      permission: LIST_VOLUMES,
      pagination: 'token',
    },
    read: {
      ...volume,
      description: 'reads a volume with its allocations',
      permission: permit(onVolumes('csi-read-volume')),
      says: ['ID'],
      describes: { volume_id: ['ID'], namespace: ['Namespace'] },
      maps: [['ReadAllocs'], ['WriteAllocs']],
    },
    register: {
      ...writeVolume,
      ...volume,
      method: 'PUT',
      description: 'registers an existing volume of the storage provider',
      body: bodies.registerVolume,
      validate: bodies.validateVolumeId('Volumes', 'ID'),
    },
    create: {
      ...create,
      path: `${volume.path}/create`,
      description: 'creates a volume in the storage provider and registers it',
      body: bodies.createVolume,
      validate: bodies.validateVolumeId('Volumes', 'ID'),
    },
    deregister: {
      ...remove,
      description: 'deregisters a volume; the storage provider keeps it',
      params: {
        volume_id: volume.params.volume_id,
        force: queryParam('drop the claims of finished allocations at once', 'boolean'),
        namespace,
      },
    },
    delete: {
      ...remove,
      retryPolicy: 'never',
      path: `${volume.path}/delete`,
      description: 'deletes a volume in the storage provider, with its data',
    },
    detach: {
      ...remove,
      path: `${volume.path}/detach`,
      description: 'detaches a volume from a node',
      params: {
        volume_id: volume.params.volume_id,
        node: { ...queryParam('node to detach from'), required: true },
        namespace,
      },
      hashicorpPermission: permit(onVolumes('csi-mount-volume'), READ_PLUGIN),
    },
  },
  'external-volumes': {
    list: {
      path: '/volumes/external',
      description: 'lists the volumes of the storage provider',
      // Without a plugin, the service of the API documents lists the volumes of all plugins.
      params: { plugin_id: { ...pluginId, required: false }, ...pluginPages, namespace: namespaceOfRight },
      itemsPath: 'Volumes',
      validate: bodies.validatePrefixes,
      permission: writeVolume.permission,
      hashicorpPermission: LIST_WITH_PLUGIN,
      pagination: 'token',
    },
  },
  snapshots: {
    list: {
      path: '/volumes/snapshot',
      description: 'lists the snapshots of the storage provider',
      params: {
        plugin_id: pluginId,
        ...pluginPages,
        secrets: { ...queryParam('key=value pairs for the plugin, comma-separated'), secret: true },
        namespace: namespaceOfRight,
      },
      itemsPath: 'Snapshots',
      validate: bodies.validatePrefixes,
      hashicorp: bodies.toHashicorpSecretsHeader,
      permission: LIST_VOLUMES,
      hashicorpPermission: LIST_WITH_PLUGIN,
      pagination: 'token',
    },
    create: {
      ...create,
      path: '/volumes/snapshot/{volume_id}',
      description: 'creates a snapshot of a volume with each call',
      body: bodies.createSnapshot,
      validate: bodies.validateVolumeId('Snapshots', 'SourceVolumeID'),
      // Nomad reads the ID from the body alone: docs/services/scheduler.md#volumes.
      hashicorp: (draft) => ({ ...draft, path: '/volumes/snapshot' }),
    },
    delete: {
      ...remove,
      retryPolicy: 'never',
      path: '/volumes/snapshot',
      description: 'deletes a snapshot in the storage provider',
      params: { plugin_id: pluginId, snapshot_id: { ...queryParam('ID of the snapshot'), required: true } },
      validate: bodies.validatePrefixes,
    },
  },
});

/** Lists the storage plugins. Only the real product has it, so it is not one of the operations that `tidemark api` lists. */
export const listPlugins = defineOperations('scheduler', {
  plugins: {
    list: {
      path: '/plugins',
      description: 'lists the storage plugins',
      params: { type: queryParam('csi') },
      responseType: 'array',
      hashicorpPermission: permit({ scope: 'plugin', policy: 'list' }),
      section: 'external-volumes',
    },
  },
}).plugins.list;

/** What a service says of a plugin that cannot list: docs/services/scheduler.md#external-volumes. */
export const CANNOT_LIST = /not (?:support|implement)|unsupported|unimplemented|\bLIST_(?:VOLUMES|SNAPSHOTS)\b/iu;
