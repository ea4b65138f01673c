import type { Rows } from './findings-warehouse.ts';

export const volume = (id: string, fields: Rows[number] = {}): Rows[number] => ({
  volume_id: id,
  external_id: `ext-${id}`,
  namespace: 'default',
  name: `volume ${id}`,
  plugin_id: 'ebs',
  schedulable: true,
  current_readers: 0,
  current_writers: 0,
  ...fields,
});
export const claim = (
  volumeId: string,
  allocation: string,
  status: string | null,
  fields: Rows[number] = {},
): Rows[number] => ({
  volume_id: volumeId,
  namespace: 'default',
  allocation_id: allocation,
  mode: 'write',
  node_id: `node-of-${allocation}`,
  job_id: 'job',
  client_status: status,
  ...fields,
});
export const external = (id: string, fields: Rows[number] = {}): Rows[number] => ({
  plugin_id: 'ebs',
  external_id: `ext-${id}`,
  is_abnormal: false,
  ...fields,
});
export const snapshot = (
  id: string,
  of: string | null,
  created: string | null,
  fields: Rows[number] = {},
): Rows[number] => ({
  plugin_id: 'ebs',
  snapshot_id: id,
  external_source_volume_id: of === null ? null : `ext-${of}`,
  created_at: created,
  is_ready: true,
  ...fields,
});
export const listing = (plugin: string, supported: boolean): Rows[number] => ({ plugin_id: plugin, supported });
