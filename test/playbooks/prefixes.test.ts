import { beforeAll, describe, expect, test } from 'vitest';
import type { StoragePlugin } from '../../sandbox/scheduler/records.ts';
import type { Plan } from '../../src/act/plan-file.ts';
import { type PlaybookHarness, playbookHarness } from '../helpers/playbook-harness.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

/** The API documents take a plugin ID as a prefix, so that a request for `eb50` concerns `eb50aa` as well. */

const SHORT = 'eb50';
const LONG = 'eb50aa';

type Plugins = Map<string, StoragePlugin>;

/** Adds a plugin with a longer ID, which has one volume and one snapshot. */
function addLongerPlugin(plugins: Plugins, id = LONG, volume = 'vol-of-longer'): StoragePlugin {
  const short = plugins.get(SHORT)!;
  const external = { id: volume, capacityBytes: 1n, snapshotId: '', abnormal: true, status: 'degraded' };
  const snapshot = {
    id: 'snap-of-longer',
    sourceId: volume,
    sizeBytes: 1n,
    createdAt: new Date('2020-01-01T00:00:00Z'),
    ready: true,
    parameters: null,
  };
  const longer = {
    ...short,
    id,
    externals: new Map([[external.id, external]]),
    snapshots: new Map([[snapshot.id, snapshot]]),
  };
  plugins.set(id, longer);
  return longer;
}

const plugins = ({ sandbox }: PlaybookHarness): Plugins => sandbox.services.scheduler.state.plugins;

async function reasons(place: PlaybookHarness): Promise<readonly (string | null)[]> {
  const { rows } = (await place.apply()).json<{ rows: { reason: string | null; params: { plugin_id?: string } }[] }>();
  return rows.map(({ reason }) => reason);
}

describe('plugins that nothing else names', () => {
  const atEnd = cleanAtEnd();
  let place: PlaybookHarness;

  beforeAll(async () => {
    place = await playbookHarness({
      updatesTable: false,
      playbook: 'adopt-orphaned-volumes',
      others: ['drop-stale-snapshots'],
      prepare: ({ scheduler }) => {
        addLongerPlugin(scheduler.plugins);
        addLongerPlugin(scheduler.plugins, 'ffff', 'vol-of-unknown');
      },
      cleanup: atEnd,
    });
  });

  test('a snapshot of a plugin with a longer ID is deleted under its own ID', async () => {
    const plan = await place.switchTo('drop-stale-snapshots').plan();
    const own = plan.actions.filter(({ params }) => params.snapshot_id === 'snap-of-longer');
    expect(own.map(({ params }) => params.plugin_id)).toEqual([LONG]);
  });

  test('a volume of a plugin that is not known is not adopted', async () => {
    const plan = await place.plan();
    expect(plan.skipped.map(({ reason }) => reason)).toContain('the plugin that has vol-of-unknown is not known');
    expect(plan.actions.filter(({ guard }) => guard.inputs.external_id === 'vol-of-unknown')).toEqual([]);
  });

  test('a plan says which volumes their provider reports as abnormal', async () => {
    const { actions } = await place.plan();
    const doubted = actions.filter(({ summary }) => summary.endsWith('; its provider reports that it is abnormal'));
    expect(doubted.map(({ guard }) => guard.inputs.external_id)).toEqual(['vol-of-longer']);
    expect(actions.length).toBeGreaterThan(1);
  });

  test('a volume of a plugin that nothing else names is not adopted under the shorter ID', async () => {
    const plan = await place.plan();
    const planned = plan.actions.filter(({ guard }) => guard.inputs.external_id === 'vol-of-longer');
    expect(planned).toHaveLength(1);
    await place.approve();
    await place.apply();
    const registered = [...place.sandbox.services.scheduler.state.volumes.values()];
    expect(registered.filter(({ externalId }) => externalId === 'vol-of-longer')).toEqual([]);
    const ledger = await place.ledger();
    for (const { action_id } of planned) {
      const row = ledger.find((candidate) => candidate.action_id === action_id);
      expect(row?.reason).toBe(`the service takes ${SHORT} as a prefix, which may also mean ${LONG}`);
    }
  });
});

test('no snapshot is deleted with an ID that another plugin begins with', async () => {
  const place = await playbookHarness({ updatesTable: false, playbook: 'drop-stale-snapshots' });
  const plan = await place.plan();
  await place.approve();
  const longer = addLongerPlugin(plugins(place));
  const before = plugins(place).get(SHORT)!.snapshots.size;
  const shared = plan.actions.filter(({ params }) => params.plugin_id === SHORT);
  expect(shared.length).toBeGreaterThan(0);
  const refused = (await reasons(place)).filter((reason) => reason?.includes(`may also mean ${LONG}`));
  expect(refused).toHaveLength(shared.length);
  expect([plugins(place).get(SHORT)!.snapshots.size, longer.snapshots.size]).toEqual([before, 1]);
});

test('no snapshot that was created is deleted with an ID that another plugin begins with', async () => {
  const place = await playbookHarness({ updatesTable: false, playbook: 'snapshot-unprotected-volumes' });
  const { plan_id } = await place.plan(['--max-percent', '100']);
  await place.approve();
  await place.apply();
  const created = plugins(place).get(SHORT)!.snapshots.size;
  const longer = addLongerPlugin(plugins(place));
  const undo = (await place.tidemark(['playbook', 'undo', plan_id, '--json'])).json<Plan>();
  const reason = expect.stringContaining(`the service takes ${SHORT} as a prefix, which may also mean ${LONG}`);
  expect(undo.skipped).toEqual([expect.objectContaining({ reason })]);
  await place.tidemark(['playbook', 'approve', undo.plan_id, '--by', 'the operator', '--irreversible']);
  await place.tidemark(['playbook', 'apply', undo.plan_id]);
  expect([plugins(place).get(SHORT)!.snapshots.size, longer.snapshots.size]).toEqual([created, 1]);
});

test('the real product takes an ID as it is: another plugin that begins with it does not matter', async () => {
  const place = await playbookHarness({ updatesTable: false, playbook: 'drop-stale-snapshots', flavor: 'hashicorp' });
  await place.plan();
  await place.approve();
  const all = plugins(place);
  all.set('aws-ebs01', { ...all.get('aws-ebs0')!, id: 'aws-ebs01', externals: new Map(), snapshots: new Map() });
  const { volumes } = place.sandbox.services.scheduler.state;
  const [volume] = volumes.values();
  volumes.set('default/of-longer', { ...volume!, id: 'of-longer', pluginId: 'aws-ebs01', externalId: 'vol-of-longer' });
  expect((await reasons(place)).filter((reason) => reason?.includes('as a prefix'))).toEqual([]);
});
