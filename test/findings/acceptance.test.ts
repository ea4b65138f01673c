import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { acceptFindings } from '../../src/tell/findings/evaluate.ts';
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

describe('an accepted finding', () => {
  test('is not reported until it expires, then is new again', async () => {
    const { warehouse, id, one } = await openFinding();
    await acceptFindings(warehouse.database, warehouse.files, { ...acceptance, ids: [id] }, new Date(runTime(2)));
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
    await acceptFindings(warehouse.database, warehouse.files, { ...acceptance, ids: [id] }, new Date(runTime(2)));
    await pullAndEvaluate(warehouse, 20, 'failed');
    expect(await one()).toMatchObject({ state: 'new', unassessed_since: runTime(20) });
  });

  test('reopens when it expires, even where a run does not pull its target', async () => {
    const { warehouse, id, one } = await openFinding();
    await acceptFindings(warehouse.database, warehouse.files, { ...acceptance, ids: [id] }, new Date(runTime(2)));
    await pullAndEvaluate(warehouse, 20, [], 'other');
    expect(await one()).toMatchObject({ state: 'new', last_seen: runTime(1), unassessed_since: null });
  });

  test('reopens when its weight grows, and stays open', async () => {
    const { warehouse, id, one } = await openFinding();
    await acceptFindings(warehouse.database, warehouse.files, { ...acceptance, ids: [id] }, new Date(runTime(2)));
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
    await acceptFindings(
      warehouse.database,
      warehouse.files,
      { ...acceptance, ids: [String(row?.finding_id)] },
      new Date(runTime(2)),
    );
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
    await acceptFindings(warehouse.database, warehouse.files, { ...acceptance, ids: [id] }, new Date(runTime(2)));
    await pullAndEvaluate(warehouse, 3, [workspace('ws-1', false)]);
    expect(await one()).toMatchObject({ state: 'resolved', accepted_until: null, accepted_owner: null });
    await pullAndEvaluate(warehouse, 4, [workspace('ws-1', true, 1)]);
    expect(await one()).toMatchObject({ state: 'new', times_reopened: 1 });
  });

  test('must exist, be unresolved and expire in the future; otherwise nothing changes', async () => {
    const { warehouse, id, one } = await openFinding();
    await pullAndEvaluate(warehouse, 2, [workspace('ws-1', true), workspace('ws-2', true)]);
    await pullAndEvaluate(warehouse, 3, [workspace('ws-1', true), workspace('ws-2', false)]);
    const gone = String((await driftFindings(warehouse))['ws-2']?.finding_id);
    const accept = (ids: readonly string[], until = acceptance.until) =>
      acceptFindings(warehouse.database, warehouse.files, { ...acceptance, ids, until }, new Date(runTime(4)));
    await expect(accept([id, 'f-000000000000'])).rejects.toThrow('unknown finding f-000000000000');
    await expect(accept([id, gone])).rejects.toThrow(`already resolved: ${gone}`);
    await expect(accept([id], new Date(runTime(4)))).rejects.toThrow('--until 2026-11-04T02:15:00.000Z has passed');
    expect(await one()).toMatchObject({ state: 'open' });
  });
});
