import { expect, test } from 'vitest';
import type { StoragePlugin } from '../../sandbox/scheduler/records.ts';
import { listWrites, playbookHarness } from '../helpers/playbook-harness.ts';

/** A driver that honours `per_page` and never names a next page must not make playbooks act on what the first page lacks. */

const PLUGIN = 'beefcafe';

/** What the driver has, in the order of the IDs: more than 100 volumes before the others. */
function listExternals({ externals }: StoragePlugin) {
  const fillers = Array.from({ length: 150 }, (_, n) => ({ ExternalID: `a-${String(n).padStart(3, '0')}` }));
  return [...fillers, ...[...externals.keys()].sort().map((ExternalID) => ({ ExternalID }))];
}

test('deregister-missing-volumes sees a volume beyond the first full page, in the pull and just before the action', async () => {
  let plugin: StoragePlugin | undefined;
  const place = await playbookHarness({
    updatesTable: false,
    playbook: 'deregister-missing-volumes',
    snapshot: false,
    prepare: ({ scheduler }) => {
      plugin = scheduler.plugins.get(PLUGIN);
    },
    faultHook: ({ path, query }) => {
      if (path !== '/v1/volumes/external' || query.get('plugin_id') !== PLUGIN || !plugin) return undefined;
      const Volumes = listExternals(plugin).slice(0, Number(query.get('per_page')));
      const body = JSON.stringify({ NextToken: '', Volumes });
      return { status: 200, headers: { 'content-type': 'application/json' }, body };
    },
  });
  const plan = await place.plan();
  const planned = plan.actions.filter(({ guard }) => guard.inputs.plugin_id === PLUGIN);
  expect(planned.map(({ subject_name }) => subject_name)).toEqual(['missing-logs']); // and none of those that exist
  await place.approve();
  const external = String(planned[0]?.guard.inputs.external_id);
  plugin?.externals.set(external, { id: external, capacityBytes: 1n, snapshotId: '', abnormal: false, status: '' });
  const { rows } = (await place.apply()).json<{ rows: { action_id: string; reason: string | null }[] }>();
  const row = rows.find(({ action_id }) => action_id === planned[0]?.action_id);
  expect(row?.reason).toBe('it is in the provider again');
  expect(listWrites(place.sandbox.log).filter(({ path }) => path.includes('missing-logs'))).toEqual([]);
});
