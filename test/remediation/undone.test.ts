import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { syncLedger } from '../../src/act/ledger-table.ts';
import type { Plan } from '../../src/act/plan-file.ts';
import { loadConfig } from '../../src/config/config.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { acquireLock } from '../../src/warehouse/lock.ts';
import { withWarehouse } from '../../src/warehouse/session.ts';
import { type PlaybookHarness, playbookHarness } from '../helpers/playbook-harness.ts';
import { QUIET } from '../helpers/report-warehouse.ts';

type Scoped = readonly boolean[];

/** A project whose nightly job applies a playbook unattended. */
async function createPlace() {
  const place = await playbookHarness({ playbook: 'scope-unused-pools', sources: ['agents'] });
  const playbooks = [{ name: 'scope-unused-pools', mode: 'apply', approvedBy: 'platform team' }];
  await mkdir(join(place.folder, 'jobs'), { recursive: true });
  await writeFile(
    join(place.folder, 'jobs', 'nightly.yaml'),
    stringify({ pull: ['agents', 'agent_pools'], playbooks }),
  );
  return place;
}

async function runNight({ sandbox, tidemark }: PlaybookHarness): Promise<Plan> {
  sandbox.tick();
  const { exit, stderr, json } = await tidemark(['run', 'nightly', '--json']);
  expect(exit, stderr).toBe(0);
  return json<{ playbooks: { plan: Plan }[] }>().playbooks[0]!.plan;
}

async function undo({ tidemark }: PlaybookHarness, { plan_id }: Plan, words: readonly string[] = []): Promise<Plan> {
  const created = (await tidemark(['playbook', 'undo', plan_id, '--json', ...words])).json<Plan>();
  await tidemark(['playbook', 'approve', created.plan_id, '--by', 'the operator']);
  const { exit, stderr } = await tidemark(['playbook', 'apply', created.plan_id]);
  expect(exit, stderr).toBe(0);
  return created;
}

const listScoped = ({ sandbox }: PlaybookHarness, { actions }: Plan): Scoped =>
  actions.map(({ params }) => {
    const pool = sandbox.services.platform.state.pools.find(({ id }) => id === params.id);
    return pool?.organizationScoped === false;
  });
const accepted = (place: PlaybookHarness) =>
  place.rows("select accepted_owner, accepted_reason from findings where state = 'accepted'");

test('what was undone is not applied again by the next nights, and the findings say why', async () => {
  const place = await createPlace();
  const applied = await runNight(place);
  expect(listScoped(place, applied)).toEqual([true, true]);
  const { plan_id } = await undo(place, applied);
  const acceptance = { accepted_owner: 'the operator', accepted_reason: `undone by plan ${plan_id}` };
  expect(await accepted(place)).toEqual([acceptance, acceptance]);
  for (let night = 0; night < 2; night++) {
    const plan = await runNight(place);
    expect(plan.actions).toEqual([]);
    expect(plan.skipped.map(({ reason }) => reason)).toContainEqual(
      expect.stringContaining(`undone by plan ${plan_id}`),
    );
  }
  expect(listScoped(place, applied)).toEqual([false, false]);
});

test('a finding that was resolved when it was undone is accepted as soon as it is found again', async () => {
  const place = await createPlace();
  const applied = await runNight(place);
  await runNight(place);
  await undo(place, applied);
  expect(await accepted(place)).toEqual([]);
  expect((await runNight(place)).actions).toEqual([]);
  expect(await accepted(place)).toHaveLength(2);
  expect(listScoped(place, applied)).toEqual([false, false]);
});

test('an undo during a run, which holds the warehouse, is accepted by the next run', async () => {
  const place = await createPlace();
  const applied = await runNight(place);
  const lock = await acquireLock(join(place.folder, 'data', 'lock'), 'a run');
  await undo(place, applied);
  await lock.release();
  expect(await accepted(place)).toEqual([]);
  expect((await runNight(place)).actions).toEqual([]);
  expect(await accepted(place)).toHaveLength(2);
});

test('is accepted as of the undo where the clock went back after it: dated earlier, each run would accept it again', async () => {
  const place = await createPlace();
  const applied = await runNight(place);
  const ahead = new Date(place.sandbox.now.getTime() + 3_600_000).toISOString();
  const lock = await acquireLock(join(place.folder, 'data', 'lock'), 'a run');
  const { tidemark } = place;
  await undo({ ...place, tidemark: (words) => tidemark([...words, '--now', ahead]) }, applied);
  await lock.release();
  const now = place.sandbox.now;
  const config = loadConfig(join(place.folder, 'tidemark.yaml'), {}, new Redactor());
  await withWarehouse({ config, purpose: 'a run', now, log: QUIET }, (warehouse) => syncLedger(warehouse, config, now));
  expect(
    await place.rows(`select distinct changed_at >= (select max(finished_at) from actions) as is_later
      from finding_events where reason = 'accepted'`),
  ).toEqual([{ is_later: true }]);
});

test('where the last run is dated after its end, nothing is accepted, and the run goes on', async () => {
  const place = await createPlace();
  const applied = await runNight(place);
  const lock = await acquireLock(join(place.folder, 'data', 'lock'), 'a run');
  await undo(place, applied);
  await lock.release();
  const now = place.sandbox.now;
  const config = loadConfig(join(place.folder, 'tidemark.yaml'), {}, new Redactor());
  await withWarehouse({ config, purpose: 'a run', now, log: QUIET }, async (warehouse) => {
    await warehouse.database.run('update runs set started_at = started_at + interval 1 year');
    await syncLedger(warehouse, config, now);
  });
  expect(await place.rows("from finding_events where reason = 'accepted'")).toEqual([]);
});

test('the acceptance ends after `--accept-days`, and 0 accepts nothing', async () => {
  const place = await createPlace();
  const applied = await runNight(place);
  await undo(place, applied, ['--accept-days', '0']);
  expect(await accepted(place)).toEqual([]);
  const again = await runNight(place);
  expect(again.actions).toHaveLength(2);
  await undo(place, again, ['--accept-days', '1']);
  expect(await accepted(place)).toHaveLength(2);
  expect((await runNight(place)).actions).toHaveLength(2);
});

test('an undo accepts nothing that it did not restore, and what a person accepts since counts instead', async () => {
  const place = await createPlace();
  const applied = await runNight(place);
  const [first, second] = applied.actions;
  const created = (await place.tidemark(['playbook', 'undo', applied.plan_id, '--json'])).json<Plan>();
  await place.tidemark(['playbook', 'approve', created.plan_id, '--by', 'the operator']);
  const { pools, workspaces } = place.sandbox.services.platform.state;
  pools.find(({ id }) => id === first!.params.id)!.allowed.push(workspaces[0]!.id);
  expect((await place.tidemark(['playbook', 'apply', created.plan_id])).exit).toBe(1);
  const listAccepted = () =>
    place.rows("select finding_id as id, accepted_owner as owner from findings where state = 'accepted'");
  expect(await listAccepted()).toEqual([{ id: second!.finding_id, owner: 'the operator' }]);

  const { now } = place.sandbox;
  const soon = new Date(now.getTime() + 3_600_000).toISOString();
  const words = ['--reason', 'an hour', '--owner', 'a person', '--until', soon];
  const { exit, stderr } = await place.tidemark(['findings', 'accept', second!.finding_id, ...words]);
  expect(exit, stderr).toBe(0);
  expect(await listAccepted()).toEqual([{ id: second!.finding_id, owner: 'a person' }]);
  expect((await runNight(place)).actions.map(({ finding_id }) => finding_id)).toContain(second!.finding_id);
});
