import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createFindingsWarehouse, type FindingsWarehouse, type Rows } from '../helpers/findings-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';

const FIRST = '2026-11-20T02:15:00.000Z';
const SECOND = '2026-11-21T02:15:00.000Z';

const HELD: Rows = [{ plugin_id: 'ebs', external_id: 'vol-1' }];
const REGISTERED: Rows = [
  { volume_id: 'v', namespace: 'default', plugin_id: 'ebs', external_id: 'vol-1' },
  { volume_id: 'other', namespace: 'default', plugin_id: 'ebs', external_id: 'vol-2' },
];
const SNAPSHOTS: Rows = [
  { plugin_id: 'ebs', snapshot_id: 's', external_source_volume_id: 'vol-9', created_at: FIRST, is_ready: true },
];
const LISTINGS: Rows = [{ plugin_id: 'ebs', supported: true }];

const pullHeld = (warehouse: FindingsWarehouse, at: string) =>
  warehouse.pull(at, 'nomad', 'external_volumes', { external_volumes: HELD, external_volume_listings: LISTINGS });
const pullSnapshots = (warehouse: FindingsWarehouse, at: string) =>
  warehouse.pull(at, 'nomad', 'volume_snapshots', {
    volume_snapshots: SNAPSHOTS,
    volume_snapshot_listings: LISTINGS,
  });
const pullVolumes = (warehouse: FindingsWarehouse, at: string, rows = REGISTERED) =>
  warehouse.pull(at, 'nomad', 'volumes', { volumes: rows });

const reasons = async ({ database }: FindingsWarehouse) =>
  Object.fromEntries(
    (await database.rows('select rule, reason from unassessed_rules where ended_at is null order by rule')).map(
      ({ rule, reason }) => [rule, reason],
    ),
  );

describe('a rule that joins two sources', () => {
  test('finds nothing while one of them was never complete, and is recorded as not assessed', async () => {
    const warehouse = await createFindingsWarehouse();
    await pullHeld(warehouse, FIRST);
    await pullSnapshots(warehouse, FIRST);
    await warehouse.fail(FIRST, 'nomad', 'volumes');
    await warehouse.evaluate(FIRST);
    expect(await warehouse.findings('orphaned-external-volume')).toEqual([]);
    expect(await warehouse.findings('stale-snapshot')).toEqual([]);
    expect(await reasons(warehouse)).toMatchObject({
      'orphaned-external-volume': 'source volumes is failed',
      'stale-snapshot': 'source volumes is failed',
    });

    await pullHeld(warehouse, SECOND);
    await pullSnapshots(warehouse, SECOND);
    await pullVolumes(warehouse, SECOND, []);
    await warehouse.evaluate(SECOND);
    expect(await warehouse.findings('orphaned-external-volume')).toMatchObject([{ subject_id: 'ebs/vol-1' }]);
    expect(await reasons(warehouse)).toEqual({});
    expect(
      await warehouse.database.rows(
        "select since, ended_at from unassessed_rules where rule = 'orphaned-external-volume'",
      ),
    ).toMatchObject([{ since: FIRST.replace('.000', ''), ended_at: SECOND.replace('.000', '') }]);
  });

  test('is assessed from pulls of two runs that follow each other within an hour', async () => {
    const warehouse = await createFindingsWarehouse();
    await pullHeld(warehouse, '2026-11-20T01:15:00.000Z');
    await pullVolumes(warehouse, FIRST, []);
    await warehouse.evaluate(FIRST);
    expect(await warehouse.findings('orphaned-external-volume')).toMatchObject([{ subject_id: 'ebs/vol-1' }]);
  });

  test('is left as it is by a run that pulls one of them long after the other', async () => {
    const warehouse = await createFindingsWarehouse();
    await pullHeld(warehouse, '2026-11-20T01:14:59.000Z');
    await pullVolumes(warehouse, FIRST, []);
    await warehouse.evaluate(FIRST);
    expect(await warehouse.findings('orphaned-external-volume')).toEqual([]);
    expect(await reasons(warehouse)).toEqual({});
  });

  test('counts what the run took over from the one that it resumes as its own', async () => {
    const warehouse = await createFindingsWarehouse();
    await pullHeld(warehouse, '2026-11-19T22:15:00.000Z');
    await pullVolumes(warehouse, FIRST, []);
    await warehouse.database.run("update pulls set run_id = 'resumed'");
    await warehouse.evaluate(FIRST);
    expect(await warehouse.findings('orphaned-external-volume')).toEqual([]);
    await warehouse.evaluate(FIRST, { runId: 'resumed' });
    expect(await warehouse.findings('orphaned-external-volume')).toMatchObject([{ subject_id: 'ebs/vol-1' }]);
  });

  test('is not assessed where the other failed in a run shortly before', async () => {
    const warehouse = await createFindingsWarehouse();
    await pullHeld(warehouse, '2026-11-20T01:30:00.000Z');
    await warehouse.fail('2026-11-20T01:45:00.000Z', 'nomad', 'external_volumes');
    await pullVolumes(warehouse, FIRST, []);
    await warehouse.evaluate(FIRST);
    expect(await warehouse.findings('orphaned-external-volume')).toEqual([]);
    expect(await reasons(warehouse)).toMatchObject({ 'orphaned-external-volume': 'source external_volumes is failed' });
  });
});

describe('the header of a rule', () => {
  const body = `select target, external_id as subject_id, 'orphan' as title from external_volumes
    anti join volumes using (target, external_id)`;
  const withRule = async (header: string) => {
    const root = await tempFolder();
    await mkdir(join(root, 'queries/findings'), { recursive: true });
    const head = '-- rule: Mine.\n-- severity: info\n-- sources: volumes, external_volumes\n-- subject: volume\n';
    await writeFile(join(root, 'queries/findings/mine.sql'), `${head}${header}${body}`);
    return createFindingsWarehouse({ roots: [root] });
  };

  test('`within` says how old a source may be', async () => {
    const warehouse = await withRule('-- within: 2 days\n');
    await pullHeld(warehouse, FIRST);
    await pullVolumes(warehouse, SECOND, []);
    await warehouse.evaluate(SECOND);
    expect(await warehouse.findings('mine')).toMatchObject([{ subject_id: 'vol-1' }]);
  });

  test.each([
    ['-- within: soon\n', '`-- within: …` is not a duration such as `2 hours`'],
    ['-- proves: everything\n', '`-- proves: …` is not `complete listing of SOURCE, …`'],
    ['-- proves: complete listing of keys\n', '`-- proves: …` names keys, which is not in `sources`'],
    ['-- repaired_by: human\n', '`-- repaired_by: …` is not `hand`'],
  ])('%s is refused', async (header, problem) => {
    const warehouse = await withRule(header);
    await pullVolumes(warehouse, FIRST);
    const { failed } = await warehouse.evaluate(FIRST);
    expect(failed).toMatchObject([{ rule: 'mine', error: expect.stringContaining(problem) }]);
  });
});
