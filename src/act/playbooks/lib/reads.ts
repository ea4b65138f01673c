import type { AbsenceEvidence, GuardRead } from '../../define.ts';
import { listAt, textAt } from './json-path.ts';

/** How subjects are read, and what proves that one is gone: the list that would contain it, and where the warehouse knows its other items. */

/** IDs of JSON:API resources, or of the scheduler's objects: the text at `path` of each item. */
const itemIds =
  (...path: string[]) =>
  (items: unknown): readonly string[] =>
    Array.isArray(items) ? items.flatMap((item) => textAt(item, ...path) ?? []) : [];

/** The names in a LIST of the secrets service. */
const listedNames = (body: unknown): readonly string[] => (listAt(body, 'data', 'keys') ?? []).map(String);

/** The IDs in a list, and the column `TABLE.COLUMN` that has them, of all parents or of the one that column and input `parent` name. */
function known(
  subject: string,
  place: string,
  listIds: AbsenceEvidence['listIds'],
  parent?: string,
): Pick<AbsenceEvidence, 'subject' | 'listIds' | 'known'> {
  const [table = '', column = ''] = place.split('.');
  return { subject, listIds, known: { table, column, ...(parent !== undefined && { within: [parent, parent] }) } };
}

export const agentAbsence: AbsenceEvidence = {
  list: { operation: 'platform.agents.list', params: { agent_pool_id: 'pool_id' }, allPages: true },
  ...known('agent_id', 'agents.agent_id', itemIds('id'), 'pool_id'),
};

export const readPool: GuardRead = {
  operation: 'platform.agent-pools.show',
  params: { id: 'pool_id' },
  absence: {
    list: { operation: 'platform.agent-pools.list', params: {}, allPages: true },
    ...known('pool_id', 'agent_pools.pool_id', itemIds('id')),
  },
};

export const readView: GuardRead = {
  operation: 'platform.views.show',
  params: { view_id: 'view_id' },
  absence: {
    list: { operation: 'platform.views.list', params: {}, allPages: true },
    ...known('view_id', 'saved_views.view_id', itemIds('id')),
  },
};

/** Of a list of saved views that lacks one of the name. To create one too many is all that a wrong list could cause. */
export const viewNameAbsence: AbsenceEvidence = {
  ...known('name', 'saved_views.name', itemIds('attributes', 'name')),
  provenWhenNoneKnown: true,
};

export const readKey: GuardRead = {
  operation: 'secrets.keys.read',
  params: { name: 'key_name' },
  absence: {
    list: { operation: 'secrets.keys.list', params: {} },
    ...known('key_name', 'keys.name', listedNames),
  },
};

export const providerAbsence: AbsenceEvidence = {
  list: { operation: 'secrets.kms.list', params: {} },
  ...known('provider_name', 'kms_providers.name', listedNames),
};

export const distributionAbsence: AbsenceEvidence = {
  list: { operation: 'secrets.kms-keys.list', params: { name: 'provider_name' } },
  ...known('key_name', 'key_distributions.key_name', listedNames, 'provider_name'),
};

export const roleAbsence: AbsenceEvidence = {
  list: { operation: 'secrets.mesh-roles.list', params: { mount: 'mount' } },
  ...known('role_name', 'mesh_roles.name', listedNames, 'mount'),
};

export const readPolicy: GuardRead = {
  operation: 'scheduler.policies.read',
  params: { policy_name: 'policy_name' },
  absence: {
    list: { operation: 'scheduler.policies.list', params: {} },
    ...known('policy_name', 'acl_policies.name', itemIds('Name')),
  },
};

export const readVolume: GuardRead = {
  operation: 'scheduler.volumes.read',
  params: { volume_id: 'volume_id', namespace: 'namespace' },
  absence: {
    list: { operation: 'scheduler.volumes.list', params: { type: { is: 'csi' } }, allPages: true },
    ...known('volume_id', 'volumes.volume_id', itemIds('ID')),
  },
};

/** Every registered volume. It lacks one for an external volume that is not registered. */
export const readRegisteredVolumes: GuardRead = {
  operation: 'scheduler.volumes.list',
  params: { type: { is: 'csi' } },
  allPages: true,
  absence: {
    ...known('external_id', 'volumes.external_id', itemIds('ExternalID')),
  },
};

/** The volumes in the storage provider. */
export const readExternalVolumes: GuardRead = {
  operation: 'scheduler.external-volumes.list',
  params: { plugin_id: 'plugin_id' },
  allPages: true,
  absence: {
    ...known('external_id', 'external_volumes.external_id', itemIds('ExternalID'), 'plugin_id'),
  },
};

/** The snapshots in the storage provider. */
export const readSnapshots: GuardRead = {
  operation: 'scheduler.snapshots.list',
  params: { plugin_id: 'plugin_id' },
  allPages: true,
};

/** Of a plugin's list of snapshots. */
export const snapshotAbsence = known('snapshot_id', 'volume_snapshots.snapshot_id', itemIds('ID'), 'plugin_id');

/** Of a plugin's list of snapshots that lacks one of the external volume. To create one too many is all that it could cause. */
export const volumeSnapshotAbsence: AbsenceEvidence = {
  ...known('external_id', 'volume_snapshots.external_source_volume_id', itemIds('ExternalSourceVolumeID'), 'plugin_id'),
  provenWhenNoneKnown: true,
};
