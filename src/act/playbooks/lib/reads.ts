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

export const agentAbsence: AbsenceEvidence = {
  list: { operation: 'platform.agents.list', params: { agent_pool_id: 'pool_id' }, allPages: true },
  listIds: itemIds('id'),
  subject: 'agent_id',
  known: { table: 'agents', column: 'agent_id', within: ['pool_id', 'pool_id'] },
};

export const readPool: GuardRead = {
  operation: 'platform.agent-pools.show',
  params: { id: 'pool_id' },
  absence: {
    list: { operation: 'platform.agent-pools.list', params: {}, allPages: true },
    listIds: itemIds('id'),
    subject: 'pool_id',
    known: { table: 'agent_pools', column: 'pool_id' },
  },
};

export const readView: GuardRead = {
  operation: 'platform.views.show',
  params: { view_id: 'view_id' },
  absence: {
    list: { operation: 'platform.views.list', params: {}, allPages: true },
    listIds: itemIds('id'),
    subject: 'view_id',
    known: { table: 'saved_views', column: 'view_id' },
  },
};

/** Of a list of saved views that lacks one of the name. To create one too many is all that a wrong list could cause. */
export const viewNameAbsence: AbsenceEvidence = {
  listIds: itemIds('attributes', 'name'),
  subject: 'name',
  known: { table: 'saved_views', column: 'name' },
  provenWhenNoneKnown: true,
};

export const readKey: GuardRead = {
  operation: 'secrets.keys.read',
  params: { name: 'key_name' },
  absence: {
    list: { operation: 'secrets.keys.list', params: {} },
    listIds: listedNames,
    subject: 'key_name',
    known: { table: 'keys', column: 'name' },
  },
};

export const providerAbsence: AbsenceEvidence = {
  list: { operation: 'secrets.kms.list', params: {} },
  listIds: listedNames,
  subject: 'provider_name',
  known: { table: 'kms_providers', column: 'name' },
};

export const distributionAbsence: AbsenceEvidence = {
  list: { operation: 'secrets.kms-keys.list', params: { name: 'provider_name' } },
  listIds: listedNames,
  subject: 'key_name',
  known: { table: 'key_distributions', column: 'key_name', within: ['provider_name', 'provider_name'] },
};

export const roleAbsence: AbsenceEvidence = {
  list: { operation: 'secrets.mesh-roles.list', params: { mount: 'mount' } },
  listIds: listedNames,
  subject: 'role_name',
  known: { table: 'mesh_roles', column: 'name', within: ['mount', 'mount'] },
};

export const readPolicy: GuardRead = {
  operation: 'scheduler.policies.read',
  params: { policy_name: 'policy_name' },
  absence: {
    list: { operation: 'scheduler.policies.list', params: {} },
    listIds: itemIds('Name'),
    subject: 'policy_name',
    known: { table: 'acl_policies', column: 'name' },
  },
};

export const readVolume: GuardRead = {
  operation: 'scheduler.volumes.read',
  params: { volume_id: 'volume_id', namespace: 'namespace' },
  absence: {
    list: { operation: 'scheduler.volumes.list', params: { type: { is: 'csi' } }, allPages: true },
    listIds: itemIds('ID'),
    subject: 'volume_id',
    known: { table: 'volumes', column: 'volume_id' },
  },
};

/** Every registered volume. It lacks one for an external volume that is not registered. */
export const readRegisteredVolumes: GuardRead = {
  operation: 'scheduler.volumes.list',
  params: { type: { is: 'csi' } },
  allPages: true,
  absence: {
    listIds: itemIds('ExternalID'),
    subject: 'external_id',
    known: { table: 'volumes', column: 'external_id' },
  },
};

/** The volumes in the storage provider. */
export const readExternalVolumes: GuardRead = {
  operation: 'scheduler.external-volumes.list',
  params: { plugin_id: 'plugin_id' },
  allPages: true,
  absence: {
    listIds: itemIds('ExternalID'),
    subject: 'external_id',
    known: { table: 'external_volumes', column: 'external_id', within: ['plugin_id', 'plugin_id'] },
  },
};

/** The snapshots in the storage provider. */
export const readSnapshots: GuardRead = {
  operation: 'scheduler.snapshots.list',
  params: { plugin_id: 'plugin_id' },
  allPages: true,
};

/** Of a plugin's list of snapshots. */
export const snapshotAbsence: AbsenceEvidence = {
  listIds: itemIds('ID'),
  subject: 'snapshot_id',
  known: { table: 'volume_snapshots', column: 'snapshot_id', within: ['plugin_id', 'plugin_id'] },
};

/** Of a plugin's list of snapshots that lacks one of the external volume. To create one too many is all that it could cause. */
export const volumeSnapshotAbsence: AbsenceEvidence = {
  listIds: itemIds('ExternalSourceVolumeID'),
  subject: 'external_id',
  known: {
    table: 'volume_snapshots',
    column: 'external_source_volume_id',
    within: ['plugin_id', 'plugin_id'],
  },
  provenWhenNoneKnown: true,
};
