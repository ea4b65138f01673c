import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { createTargets } from '../../src/config/config.ts';
import { loadGuide } from '../../src/tell/findings/guide.ts';
import { renderRuleMacros } from '../../src/tell/findings/rules.ts';
import { readDigestData } from '../../src/tell/mail/digest-data.ts';
import { selectSubjects } from '../../src/tell/reports/subjects.ts';
import { createFindingsWarehouse, type FindingsWarehouse, THRESHOLDS } from '../helpers/findings-warehouse.ts';
import { cleanAtEnd, tempFolder } from '../helpers/temp.ts';

/** Their rows take more memory than each test has. */
const FINDINGS = 100_000;
const NIGHT = '2026-11-18T02:15:00Z';

/** A finding for each workspace of a large estate. */
const RULE = `-- rule: every workspace of a large estate
-- severity: warning
-- subject: workspace
-- sources: none
select
  'acme' as target,
  'ws-' || range as subject_id,
  'workspace-of-a-large-estate-' || range as subject_name,
  'workspace-of-a-large-estate-' || range || ' is one of many' as title,
  json_object('workspace_id', 'ws-' || range, 'project_name', 'project of a large estate') as detail,
from range(${FINDINGS});
`;

const atEnd = cleanAtEnd();
let warehouse: FindingsWarehouse;

beforeAll(async () => {
  const root = await tempFolder(atEnd);
  await mkdir(join(root, 'queries', 'findings'), { recursive: true });
  await writeFile(join(root, 'queries', 'findings', 'own.sql'), RULE);
  warehouse = await createFindingsWarehouse({ cleanup: atEnd, roots: [root] });
  await warehouse.pull(NIGHT, 'acme', 'mesh_roles');
  await warehouse.evaluate(NIGHT);
});

/** Rows that do not fit go to disk. Each thread has buffers. */
beforeEach(() => warehouse.database.script("set threads = 1; set memory_limit = '500MB';"));
const limitMemory = (megabytes: number) => warehouse.database.run(`set memory_limit = '${megabytes}MB'`);

test('an evaluation replaces its findings in little memory', async () => {
  const { database, files } = warehouse;
  await limitMemory(40); // an update of all of them needs 60 and more
  await database.transact(['merge_findings', 'insert_findings'].map((name) => files.read(`warehouse/${name}`)));
  const [counted] = await database.rows('select count(*) as findings, count(distinct finding_id) as ids from findings');
  expect(counted).toEqual({ findings: FINDINGS, ids: FINDINGS });
});

test('the workspaces of the versions of a module are found in little memory', async () => {
  const { database, files } = warehouse;
  await database.script(`
    insert into modules_rows by name
    select 'acme' as target, 'vpc' as name, version, ${FINDINGS} as workspace_count, timestamptz '${NIGHT}' as valid_from
    from (values ('1.0.0'), ('2.0.0')) as versions(version);
    insert into modules_members by name
    select modules_rows.target, name, version, subject_name as member, 1 as nth, 1 as rank, valid_from
    from modules_rows, findings;`);
  await limitMemory(80); // the lists of all of them need more than 100
  await database.script([...renderRuleMacros(files), files.read('warehouse/unreported_uses')].join('\n'));
  const rows = await database.rows(`
    select count(*)::int as behind, count(*) filter (unknown)::int as unknown, min(group_key) as version
    from versions_in_use_behind('module')`);
  expect(rows).toEqual([{ behind: FINDINGS, unknown: 0, version: 'vpc 1.0.0' }]);
});

test('the first findings of a report are found in little memory', async () => {
  const { database, files } = warehouse;
  const guide = JSON.stringify(await loadGuide(files, [], THRESHOLDS));
  await limitMemory(60); // a list of all of them needs more than 100
  const params = { as_of: NIGHT, rules: '["all"]', guide };
  const [row] = await database.rows(files.read('reports/lead/open_findings'), params);
  const who = row?.who as readonly { readonly subject: string }[];
  expect(row).toMatchObject({ findings: FINDINGS, subjects: FINDINGS });
  expect(who.map(({ subject }) => subject)).toHaveLength(50);
  expect(who[1]).toMatchObject({ subject: 'workspace-of-a-large-estate-1', since: NIGHT });
});

test('the subjects that have a page are chosen in little memory', async () => {
  const { database, files } = warehouse;
  await database.run(`insert into workspaces_history by name
    select target, subject_id as external_id, subject_name as workspace_name, first_seen as valid_from from findings`);
  await limitMemory(45); // a window over all of them, with the rules of each, needs more than 50
  const { pages } = await selectSubjects({ database, files, asOf: new Date(NIGHT) }, { limit: 50 });
  expect(pages).toHaveLength(50);
  expect(pages[0]).toMatchObject({ id: 'ws-0', name: 'workspace-of-a-large-estate-0', openFindings: 1, rules: 'own' });
});

test('a digest is composed in little memory', async () => {
  const { database, files } = warehouse;
  const targets = createTargets([
    { name: 'acme', kind: 'platform', url: 'http://127.0.0.1:1', organization: 'o', token: 'none' },
  ]);
  await limitMemory(90); // with lists of all of them it needs more than 120
  const night = new Date(NIGHT);
  const digest = await readDigestData(
    {
      database,
      files,
      config: { targets, thresholds: THRESHOLDS, subjectPages: 0 },
      job: { name: 'nightly', reports: [] },
      run: { runId: 'r', asOf: night },
      composedAt: night,
    } as unknown as Parameters<typeof readDigestData>[0],
    { to: [], routes: [{ targets: null, projects: null }], isUnfiltered: true, reason: '' },
  );
  expect(digest.causes[0]).toMatchObject({ size: FINDINGS });
  expect(digest.causes[0]?.subjects).toHaveLength(3);
});
