import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { acceptFindings } from '../../src/tell/findings/evaluate.ts';
import { chooseTime } from '../../src/warehouse/latest.ts';
import type { Row } from '../../src/warehouse/values.ts';
import { driftFindings, pullAndEvaluate, runTime, workspace } from '../helpers/drift-history.ts';
import { createFindingsWarehouse, type FindingsWarehouse } from '../helpers/findings-warehouse.ts';
import { prepareOnce } from '../helpers/prepared.ts';

const acceptance = { reason: 'the supplier fixes it', owner: 'platform team', until: new Date(runTime(20)) };

/** A warehouse with one open finding of weight 2. */
async function openFinding(): Promise<{ warehouse: FindingsWarehouse; id: string; one: () => Promise<Row> }> {
  const warehouse = await createFindingsWarehouse({ from: join(await prepareOnce('open-finding', fill), 'w.duckdb') });
  const one = async () => (await driftFindings(warehouse))['ws-1']!;
  const id = String((await one()).finding_id);
  return { warehouse, id, one };
}

async function fill(folder: string): Promise<void> {
  const warehouse = await createFindingsWarehouse({ file: join(folder, 'w.duckdb') });
  await pullAndEvaluate(warehouse, 1, [workspace('ws-1', true, 2)]);
  await warehouse.database.run('checkpoint');
}

async function reasons({ database }: FindingsWarehouse, id: string) {
  const rows = await database.rows('select reason from finding_events where finding_id = $id order by changed_at', {
    id,
  });
  return rows.map(({ reason }) => reason);
}

/** The same, accepted until the 20th; since the 4th, its target is left out. */
async function acceptedAndLeftOut() {
  const opened = await openFinding();
  const { warehouse, id } = opened;
  await acceptFindings(warehouse, { ...acceptance, ids: [id] }, new Date(runTime(2)));
  await warehouse.pull(runTime(4), 'other', 'workspaces');
  await warehouse.fail(runTime(4), 'acme', 'workspaces', 'left-out');
  await warehouse.evaluate(runTime(4));
  return opened;
}

/** The state that reports and mails show. */
async function shownState({ database }: FindingsWarehouse, day: number) {
  const [row] = await database.rows('select state from finding_states_at($at, null)', { at: runTime(day) });
  return row?.state;
}

test.each([
  ['on one day', [[12903907, 48755765]]],
  ['one after the other', [[12903907], [12903907, 48755765]]],
])('two subjects whose names give one ID have two findings: %s', async (_, days) => {
  const warehouse = await createFindingsWarehouse();
  for (const [index, ids] of days.entries())
    await pullAndEvaluate(
      warehouse,
      index + 1,
      ids.map((id) => workspace(`ws-${id}`, true, 2)),
    );
  const rows: readonly Row[] = Object.values(await driftFindings(warehouse));
  const found = rows.map(({ finding_id }) => String(finding_id));
  expect(new Set(found.map((id) => id.slice(0, 14)))).toEqual(new Set(['f-399e2a25082d']));
  expect(new Set(found).size).toBe(2);
});

describe('an accepted finding', () => {
  test('is shown as accepted where the clock went back since the last run', async () => {
    const { warehouse, id } = await openFinding();
    await acceptFindings(warehouse, { ...acceptance, ids: [id] }, new Date('2026-10-31T02:15:00Z'));
    expect(await shownState(warehouse, 10)).toBe('accepted');
  });

  test('is dated before the next run where the clock goes back after it', async () => {
    const { warehouse, id } = await openFinding();
    await acceptFindings(warehouse, { ...acceptance, ids: [id] }, new Date(runTime(9)));
    const at = await chooseTime(warehouse, new Date(runTime(3)));
    await warehouse.pull(at.toISOString(), 'acme', 'workspaces', { workspaces: [workspace('ws-1', false)] });
    await warehouse.evaluate(at.toISOString());
    expect(await shownState(warehouse, 10)).toBe('resolved');
  });

  test('is not reported until it expires, then is new again', async () => {
    const { warehouse, id, one } = await openFinding();
    await acceptFindings(warehouse, { ...acceptance, ids: [id] }, new Date(runTime(2)));
    expect(await pullAndEvaluate(warehouse, 3, [workspace('ws-1', true, 2)])).toMatchObject({
      accepted: 1,
      open: 0,
      returned: 0,
    });
    expect(await one()).toMatchObject({
      state: 'accepted',
      last_seen: runTime(3),
      accepted_at: runTime(2),
      accepted_until: runTime(20),
      accepted_reason: 'the supplier fixes it',
      accepted_owner: 'platform team',
    });
    await pullAndEvaluate(warehouse, 19, [workspace('ws-1', true, 1)]);
    expect(await one()).toMatchObject({ state: 'accepted' });
    expect(await pullAndEvaluate(warehouse, 20, [workspace('ws-1', true, 1)])).toMatchObject({
      returned: 1,
      open: 1,
    });
    expect(await one()).toMatchObject({ state: 'new', opened_at: runTime(1), times_reopened: 0 });
    expect(await reasons(warehouse, id)).toEqual(['baseline', 'accepted', 'acceptance ended']);
  });

  test('reopens when it expires, even where its source fails', async () => {
    const { warehouse, id, one } = await openFinding();
    await acceptFindings(warehouse, { ...acceptance, ids: [id] }, new Date(runTime(2)));
    await pullAndEvaluate(warehouse, 20, 'failed');
    expect(await one()).toMatchObject({ state: 'new', unassessed_since: runTime(20) });
  });

  test('reopens when it expires, even where a run does not pull its target', async () => {
    const { warehouse, id, one } = await openFinding();
    await acceptFindings(warehouse, { ...acceptance, ids: [id] }, new Date(runTime(2)));
    await pullAndEvaluate(warehouse, 19, 'failed');
    await pullAndEvaluate(warehouse, 20, [], 'other');
    expect(await one()).toMatchObject({ state: 'new', last_seen: runTime(1), unassessed_since: runTime(19) });
  });

  test('reopens when its weight grows, and stays open', async () => {
    const { warehouse, id, one } = await openFinding();
    await acceptFindings(warehouse, { ...acceptance, ids: [id] }, new Date(runTime(2)));
    expect(await pullAndEvaluate(warehouse, 3, [workspace('ws-1', true, 3)])).toMatchObject({ returned: 1 });
    expect(await one()).toMatchObject({ state: 'new', weight: 3 });
    await pullAndEvaluate(warehouse, 4, [workspace('ws-1', true, 1)]);
    expect(await one()).toMatchObject({ state: 'open' });
    expect(await reasons(warehouse, id)).toEqual(['baseline', 'accepted', 'got worse', 'no longer new']);
  });

  test('reopens when its severity rises', async () => {
    const warehouse = await createFindingsWarehouse();
    const root = (ends: string) => [{ root_id: 'root', active: true, not_after: ends }];
    await warehouse.pull(runTime(1), 'mesh', 'ca_roots', { ca_roots: root(runTime(12)) });
    await warehouse.evaluate(runTime(1));
    const [row] = await warehouse.findings('ca-root-expiring');
    await acceptFindings(warehouse, { ...acceptance, ids: [String(row?.finding_id)] }, new Date(runTime(2)));
    await warehouse.pull(runTime(4), 'mesh', 'ca_roots', { ca_roots: root(runTime(12)) });
    await warehouse.evaluate(runTime(4));
    expect(await warehouse.findings('ca-root-expiring')).toMatchObject([{ state: 'accepted', severity: 'warning' }]);
    await warehouse.pull(runTime(5), 'mesh', 'ca_roots', { ca_roots: root(runTime(12)) });
    await warehouse.evaluate(runTime(5));
    expect(await warehouse.findings('ca-root-expiring')).toMatchObject([{ state: 'new', severity: 'critical' }]);
    expect(await reasons(warehouse, String(row?.finding_id))).toEqual(['baseline', 'accepted', 'got worse']);
  });

  test('is resolved like any other, which ends the acceptance', async () => {
    const { warehouse, id, one } = await openFinding();
    await acceptFindings(warehouse, { ...acceptance, ids: [id] }, new Date(runTime(2)));
    await pullAndEvaluate(warehouse, 3, [workspace('ws-1', false)]);
    expect(await one()).toMatchObject({ state: 'resolved', accepted_until: null, accepted_owner: null });
    await pullAndEvaluate(warehouse, 4, [workspace('ws-1', true, 1)]);
    expect(await one()).toMatchObject({ state: 'new', times_reopened: 1 });
  });

  test.each([
    [
      'is accepted again',
      2,
      5,
      { state: 'accepted', opened_at: runTime(1), times_reopened: 0, accepted_until: runTime(20) },
    ],
    ['is new where it got worse', 3, 5, { state: 'new', opened_at: runTime(5), times_reopened: 1 }],
    ['is new where the acceptance has ended', 2, 20, { state: 'new', opened_at: runTime(20), times_reopened: 1 }],
  ])('whose target is left out for a while %s', async (_, resources, day, expected) => {
    const { warehouse, id, one } = await acceptedAndLeftOut();
    expect(await one()).toMatchObject({ state: 'resolved' });
    const evaluated = await pullAndEvaluate(warehouse, day, [workspace('ws-1', true, resources)]);
    expect(await one()).toMatchObject(expected);
    expect(evaluated.reopened).toBe(expected.times_reopened);
    const again = expected.state === 'accepted' ? 'accepted' : 'reopened';
    expect(await reasons(warehouse, id)).toEqual(['baseline', 'accepted', 'left out', again]);
    const notes = await warehouse.database.rows(`select distinct note from finding_events where reason = 'accepted'`);
    expect(notes).toEqual([{ note: 'platform team until 2026-11-20 02:15 UTC: the supplier fixes it' }]);
    const before = await one();
    await warehouse.evaluate(runTime(day));
    expect(await one()).toEqual(before);
  });

  test('whose target is left out for a while is new where its severity has risen', async () => {
    const warehouse = await createFindingsWarehouse();
    const pull = async (day: number) => {
      const root = { root_id: 'root', active: true, not_after: runTime(12) };
      await warehouse.pull(runTime(day), 'mesh', 'ca_roots', { ca_roots: [root] });
      await warehouse.evaluate(runTime(day));
      return (await warehouse.findings('ca-root-expiring'))[0]!;
    };
    const { finding_id, severity } = await pull(1);
    await acceptFindings(warehouse, { ...acceptance, ids: [String(finding_id)] }, new Date(runTime(2)));
    await warehouse.fail(runTime(3), 'mesh', 'ca_roots', 'left-out');
    await warehouse.pull(runTime(3), 'other', 'ca_roots');
    await warehouse.evaluate(runTime(3));
    expect([severity, await pull(5)]).toMatchObject(['warning', { state: 'new', severity: 'critical' }]);
  });

  test('that is left out and then gone is new when it is found later; where that cannot be assessed, it is still accepted', async () => {
    for (const [between, state] of [
      [[workspace('ws-1', false)], 'new'],
      [[], 'new'],
      ['failed', 'accepted'],
      [[workspace('ws-1', null)], 'accepted'],
    ] as const) {
      const { warehouse, one } = await acceptedAndLeftOut();
      await pullAndEvaluate(warehouse, 5, between);
      await pullAndEvaluate(warehouse, 6, [workspace('ws-1', true, 2)]);
      expect(await one(), state).toMatchObject({ state });
    }
  });

  test('must exist, be unresolved and expire in the future; otherwise nothing changes', async () => {
    const { warehouse, id, one } = await openFinding();
    await pullAndEvaluate(warehouse, 2, [workspace('ws-1', true), workspace('ws-2', true)]);
    await pullAndEvaluate(warehouse, 3, [workspace('ws-1', true), workspace('ws-2', false)]);
    const gone = String((await driftFindings(warehouse))['ws-2']?.finding_id);
    const accept = (ids: readonly string[], until = acceptance.until) =>
      acceptFindings(warehouse, { ...acceptance, ids, until }, new Date(runTime(4)));
    await expect(accept([id, 'f-000000000000'])).rejects.toThrow('unknown finding f-000000000000');
    await expect(accept([id, gone])).rejects.toThrow(`already resolved: ${gone}`);
    await expect(accept([id], new Date(runTime(4)))).rejects.toThrow('--until 2026-11-04T02:15:00.000Z has passed');
    expect(await one()).toMatchObject({ state: 'open' });
  });
});
