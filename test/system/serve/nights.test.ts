import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { subjectPath } from '../../../src/tell/reports/subjects.ts';
import { openDatabase } from '../../../src/warehouse/database.ts';
import { warehouseFiles } from '../../../src/warehouse/publish.ts';
import { changePublished } from '../../helpers/change-warehouse.ts';
import { parseElements } from '../../helpers/html.ts';
import { copyServedProject, HOSTILE, HTML, OWN, type Served, startServe } from '../../helpers/served.ts';
import { cleanAtEnd } from '../../helpers/temp.ts';

const atEnd = cleanAtEnd();
let folder: string;
let server: Served;
let runs: readonly string[];
let nights: readonly string[];

beforeAll(async () => {
  folder = await copyServedProject(atEnd);
  await changePublished(folder, async (database) => {
    // The second night renames the hostile workspace, and another project has a change that a plan made.
    await database.run(
      'insert into workspaces_history by name select * replace ($name as workspace_name, (select max(as_of) from pulls) as valid_from) from workspaces_history where external_id = $id and valid_to is null',
      { name: `${HOSTILE} renamed\u202e\u009b`, id: 'ws-hostile' },
    );
    await database.run(
      "update workspaces_history set valid_to = (select max(as_of) from pulls) where external_id = 'ws-hostile' and valid_to is null and workspace_name = $name",
      { name: HOSTILE },
    );
  });
  const database = await openDatabase(warehouseFiles(join(folder, 'data')).published);
  const rows = await database.rows('select run_id, max(as_of) as as_of from pulls group by run_id order by as_of');
  database.close();
  runs = rows.map(({ run_id }) => String(run_id));
  nights = rows.map(({ as_of }) => String(as_of));
  server = await startServe(folder, [], { cleanup: atEnd });
});

const open = async (path: string) => server.get(path, OWN);
const hrefs = (body: string) =>
  parseElements(body).flatMap(({ tag, attributes: { href } }) => (tag === 'a' && href !== undefined ? [href] : []));

test('each night names what changed, rare things first, with a link to its run and to the pages of subjects', async () => {
  const { status, body } = await open('/nights?table=workspaces');
  expect(status).toBe(200);
  expect(body).not.toContain('<img src=x');
  expect(body).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_C}/u);
  expect(body).toContain('<code>workspace_name</code>');
  expect(body).toContain('data-value="renamed"');
  expect(body).toContain('The first pull that is known');
  const links = hrefs(body);
  for (const run of runs) expect(links).toContain(`/runs/${run}`);
  expect(links).toContain('/nights?table=workspaces&subject=ws-hostile'); // it has no page
  const page = subjectPath({ target: 'acme', type: 'workspace', id: 'ws-hostile' });
  await writeFile(join(folder, 'out', page), '<!doctype html>\n<body>');
  expect(hrefs((await open('/nights?table=workspaces')).body)).toContain(`/reports/${page}`);
});

test('the number of changes of a night is that of all, also of those that the page does not name', async () => {
  const crowded = await copyServedProject();
  await changePublished(crowded, async (database) => {
    await database.run(
      `insert into agents_history select one.* replace ('agent-' || i as agent_id, 'added ' || i as name, (select max(as_of) from pulls) as valid_from)
       from (from agents_history where valid_to is null limit 1) as one, range(30) as n(i)`,
    );
    await database.run(
      `insert into keys_history select one.* replace ('key-' || i as name, (select max(as_of) from pulls) as valid_from)
       from (from keys_history where valid_to is null limit 1) as one, range(40) as n(i)`,
    );
  });
  const other = await startServe(crowded);
  const [night] = parseElements((await other.get('/nights', OWN)).body).filter(
    ({ attributes }) => attributes.id === 'night-0',
  );
  expect(Number(/(\d+) changes/u.exec(night?.text ?? '')?.[1])).toBeGreaterThanOrEqual(70);
});

test('the address filters by table, target, project, subject and who made the change', async () => {
  const rowsOf = async (query: string) =>
    (await open(`/nights?${query}`)).body.match(/<tr><th scope="row"/gu)?.length ?? 0;
  expect(await rowsOf('table=workspaces&subject=ws-hostile')).toBe(1);
  expect(await rowsOf('subject=ws-hostile&target=vault')).toBe(0);
  expect(await rowsOf('table=workspaces&subject=ws-hostile&by=others')).toBe(1);
  expect(await rowsOf('table=workspaces&subject=ws-hostile&by=plan')).toBe(0);
  expect(await rowsOf('table=workspaces&project=no-such-project')).toBe(0);
  expect(await rowsOf(`table=workspaces&until=${nights[0]}`)).toBe(0);
  expect((await open('/nights?table=workspaces&by=plan')).body).toContain('No change matches.');
  expect((await open('/nights?by=Plan')).body).toMatch(/Plan is not plan or others/u);
});

test('a night in which much failed, and a row of which much changed, are told in full', async () => {
  const crowded = await copyServedProject();
  const long = `${'long '.repeat(60)}${HOSTILE}`;
  await changePublished(crowded, async (database) => {
    await database.run(
      `insert into pulls by name select 'late' as run_id, 'platform-' || i as target, 'workspaces' as source, 'failed' as status,
       timestamptz '2031-01-01T02:15:00Z' as started_at, timestamptz '2031-01-01T02:15:00Z' as as_of from range(60) as n(i)`,
    );
    await database.run(
      `insert into workspaces_history by name select * replace ($long as workspace_name, $long as project_name, $long as current_run_status,
       $long as tags, timestamptz '2031-01-01T02:15:00Z' as valid_from) from workspaces_history where external_id = 'ws-hostile' and valid_to is null`,
      { long },
    );
    await database.run(
      `update workspaces_history set valid_to = timestamptz '2031-01-01T02:15:00Z' where external_id = 'ws-hostile' and valid_to is null and workspace_name <> $long`,
      { long },
    );
  });
  const other = await startServe(crowded);
  const { status, body } = await other.get('/nights?as_of=2031-01-02', OWN);
  expect(status).toBe(200);
  for (const text of ['platform-0: workspaces failed', 'platform-59: workspaces failed']) expect(body).toContain(text);
  for (const name of ['workspace_name', 'project_name', 'current_run_status'])
    expect(body).toContain(`<code>${name}</code>`);
});

test.each([
  ['/nights?table=nothing', 400],
  ['/nights?until=soon', 400],
  ['/runs/nothing', 404],
])('%s is answered with %s', async (path, status) => {
  expect((await server.get(path, HTML)).status).toBe(status);
});

test('a run has a page, and each report links to that of its run', async () => {
  const [first = '', last = ''] = runs;
  const { status, body } = await open(`/runs/${first}`);
  expect([status, body.includes('What was pulled'), body.includes('What changed')]).toEqual([200, true, true]);
  for (const report of ['drift', 'overview']) {
    const page = await readFile(join(folder, 'out', `${report}.html`), 'utf8');
    expect(page).toContain(`href="runs/${last}.html"`);
  }
  expect(existsSync(join(folder, 'out', 'runs', `${last}.html`))).toBe(true);
});
