import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { acceptFindings } from '../../src/tell/findings/evaluate.ts';
import { driftFindings, pullAndEvaluate, runTime, workspace } from '../helpers/drift-history.ts';
import { createFindingsWarehouse } from '../helpers/findings-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';

const OWN = `-- rule: A workspace is there.
-- severity: warning
-- sources: workspaces
-- subject: workspace
select target, external_id as subject_id, workspace_name as subject_name, 'there' as title from workspaces`;

test('findings of a rule that is removed end as left out, and are as they were when it comes back', async () => {
  const root = await tempFolder(onTestFinished);
  await mkdir(join(root, 'queries/findings'), { recursive: true });
  const file = join(root, 'queries/findings/own.sql');
  await writeFile(file, OWN);
  const warehouse = await createFindingsWarehouse({ roots: [root] });
  const { database, files } = warehouse;
  const night = (day: number) => pullAndEvaluate(warehouse, day, [workspace('ws-1', true), workspace('ws-2', false)]);
  const own = async () =>
    (await warehouse.findings('own')).map(({ subject_id, state, accepted_until }) => [
      subject_id,
      state,
      accepted_until,
    ]);
  await night(1);
  const id = String((await warehouse.findings('own'))[0]?.finding_id);
  const acceptance = { ids: [id], reason: 'known', owner: 'team', until: new Date(runTime(20)) };
  await acceptFindings({ database, files }, acceptance, new Date(runTime(2)));
  const rows = () => database.rows('select target, rule, subject_id, state from findings order by all');
  const before = await rows();

  await rm(file);
  const evaluated = await night(3);
  expect(evaluated).toMatchObject({ open: before.length - 2, accepted: 0, resolved: 0, deleted: 0 });
  expect(await warehouse.findings('own')).toMatchObject(
    ['ws-1', 'ws-2'].map((subject_id) => ({ subject_id, state: 'resolved', resolved_at: runTime(3) })),
  );
  expect((await driftFindings(warehouse))['ws-1']).toMatchObject({ state: 'open' });
  const told = `select states.change, count(*)::int as n from finding_states_at('${runTime(3)}', '${runTime(2)}') as states
    where change is not null group by all`;
  expect(await database.rows(told)).toEqual([{ change: 'no longer watched', n: 2 }]);
  await night(4);
  expect(await database.rows(`select 1 from finding_events where changed_at = '${runTime(4)}'`)).toEqual([]);

  await writeFile(file, OWN);
  await night(5);
  expect(await own()).toEqual([
    ['ws-1', 'accepted', runTime(20)],
    ['ws-2', 'new', null],
  ]);
});

test('a rule that cannot be read is not gone', async () => {
  const root = await tempFolder(onTestFinished);
  await mkdir(join(root, 'queries/findings'), { recursive: true });
  await writeFile(join(root, 'queries/findings/own.sql'), '-- severity: info\nselect');
  const warehouse = await createFindingsWarehouse({ roots: [root] });
  await warehouse.database.run(
    `insert into findings (finding_id, target, rule, severity, subject_type, subject_id, title, state, first_seen, last_seen, times_reopened)
     values ('f-1', 'acme', 'own', 'info', 'workspace', 'ws-1', 't', 'open', '${runTime(1)}', '${runTime(1)}', 0)`,
  );
  await pullAndEvaluate(warehouse, 2, [workspace('ws-1', false)]);
  expect(await warehouse.findings('own')).toMatchObject([{ state: 'open' }]);
});
