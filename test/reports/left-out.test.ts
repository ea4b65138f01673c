import { expect, test } from 'vitest';
import { loadReports } from '../../src/tell/reports/definitions.ts';
import { createReportWarehouse, type PulledTables, workspace } from '../helpers/report-warehouse.ts';

const night = (day: number) => `2026-11-0${day}T02:15:00Z`;
const versions = [{ name: 'aws', source: 'registry.terraform.io/hashicorp/aws', version: '5.0.0', workspace_count: 1 }];

/** A row of every area, and a number for each of them in some report. */
const estate = (id: string): PulledTables => ({
  workspaces: [workspace(`ws-${id}`, { drifted: true, checks_failed: 1, current_rum_count: 5 })],
  tf_versions: [{ version: `1.${id.length}.0`, workspace_count: 1, workspaces: `ws-${id}` }],
  providers: versions.map((row) => ({ ...row, version: `5.${id.length}.0`, workspaces: `ws-${id}` })),
  modules: versions.map((row) => ({ ...row, version: `1.${id.length}.0`, workspaces: `ws-${id}` })),
  agent_pools: [{ pool_id: `apool-${id}`, name: id, agent_count: 1 }],
  agents: [{ agent_id: `agent-${id}`, pool_id: `apool-${id}`, status: 'unknown' }],
  keys: [{ name: id, latest_version: 1, deletion_allowed: true }],
  key_versions: [{ key_name: id, version: 1, creation_time: '2025-01-01T00:00:00Z' }],
  kms_providers: [{ name: id }],
  key_distributions: [],
  mesh_roles: [{ name: id, token_type: 'management' }],
  volumes: [{ volume_id: id, namespace: 'default', external_id: id, plugin_id: 'aa', schedulable: false }],
  external_volumes: [{ external_id: `other-${id}`, plugin_id: 'aa', is_abnormal: true, capacity_bytes: 1 }],
  volume_snapshots: [{ snapshot_id: id, plugin_id: 'aa', created_at: '2025-01-01T00:00:00Z', is_ready: true }],
  ca_roots: [{ root_id: id, name: id, active: true, not_after: '2026-11-20T00:00:00Z' }],
  leaf_certificates: [{ service: id, namespace: 'default', valid_before: '2026-11-04T00:00:00Z' }],
});

async function readNights(hasOther: boolean) {
  const warehouse = await createReportWarehouse();
  for (const day of [1, 2, 3]) {
    await warehouse.pull(night(day), estate('kept'));
    if (hasOther && day === 1) await warehouse.pull(night(1), estate('gone'), 'other');
  }
  const leftOut = Object.fromEntries(Object.keys(estate('')).map((name) => [name, 'left-out' as const]));
  if (hasOther) await warehouse.pull(night(2), leftOut, 'other');
  return warehouse;
}

test('no report counts, lists or draws a target that the configuration has no more', async () => {
  const [before, after] = [await readNights(true), await readNights(false)];
  // The overview has the numbers of the others.
  for (const name of [...loadReports(before.files).keys()].filter((report) => report !== 'overview')) {
    expect(await before.data(name, night(3)), name).toEqual(await after.data(name, night(3)));
  }
  expect((await before.data('cost', night(1), [])).summary).toMatchObject({ resources: 10 });
});
