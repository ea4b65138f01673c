import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { cli } from '../helpers/cli.ts';
import { prepareOnce } from '../helpers/prepared.ts';
import { createReportWarehouse, workspace } from '../helpers/report-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';

const CONFIG = `
targets:
  - { name: acme, kind: platform, url: "https://tfe.internal", organization: acme, token: unused }
  - { name: other, kind: platform, url: "https://tfe.internal", organization: other, token: unused }
`;

const prepareWarehouse = () =>
  prepareOnce('show', async (folder) => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull('2026-11-01T02:15:00Z', { workspaces: [workspace('api'), workspace('web\u001b[31m')] });
    await warehouse.pull('2026-11-01T02:16:00Z', { workspaces: [workspace('web')] }, 'other');
    await warehouse.pull('2026-11-02T02:15:00Z', {
      workspaces: [workspace('api', { current_rum_count: 11 }), workspace('web')],
      agent_pools: [{ pool_id: 'apool-1', name: 'eu/api' }],
    });
    await warehouse.database.run('checkpoint');
    await copyFile(warehouse.file, join(folder, 'warehouse.duckdb'));
  });

let cwd: string;
beforeEach(async () => {
  cwd = await tempFolder();
  await mkdir(join(cwd, 'data'));
  await copyFile(join(await prepareWarehouse(), 'warehouse.duckdb'), join(cwd, 'data', 'warehouse.duckdb'));
  await writeFile(join(cwd, 'tidemark.yaml'), CONFIG);
});

const show = (...words: string[]) => cli(['show', ...words], { cwd });

test('shows the present, the history and the page in the product of a subject with a name', async () => {
  const { exit, stdout } = await show('api');
  expect(exit).toBe(0);
  expect(stdout).toContain('workspace ws-api of acme, core\nhttps://tfe.internal/app/acme/workspaces/api\n');
  expect(stdout).toContain('2026-11-02 02:15  Changed\n                  current_rum_count: 10 → 11\n');
  expect(stdout).toContain('current_rum_count: 11\n');
});

test('takes an ID, and a kind with a name that contains a slash', async () => {
  expect((await show('ws-api')).stdout).toContain('workspace ws-api of acme');
  expect((await show('workspace/api')).stdout).toContain('workspace ws-api of acme');
  expect((await show('eu/api')).stdout).toContain('agent pool apool-1 of acme');
  expect((await show('agent-pool/eu/api')).stdout).toContain('agent pool apool-1 of acme');
});

test('shows a subject as of a time', async () => {
  const { stdout } = await show('api', '--as-of', '2026-11-01T03:00:00Z');
  expect(stdout).toContain('current_rum_count: 10\n');
  expect(stdout).not.toContain('Changed');
});

test('--json prints the same as an object, with the row', async () => {
  const subject = (await cli(['--json', 'show', 'api'], { cwd })).json<Record<string, unknown>>();
  expect(subject).toMatchObject({
    kind: 'workspace',
    id: 'ws-api',
    as_of: '2026-11-02T02:15:00Z',
    row: { current_rum_count: 11, workspace_name: 'api' },
    timeline: [{ kind: 'history', changes: [{ field: 'current_rum_count' }] }, { title: 'Present in the first pull' }],
  });
});

test('--html writes the page, with links to the folder of the reports', async () => {
  const { exit, stdout } = await show('api', '--html', 'api.html');
  expect([exit, stdout]).toEqual([0, `${join(cwd, 'api.html')}\n`]);
  const page = await readFile(join(cwd, 'api.html'), 'utf8');
  expect(page).toContain('href="out/subjects.html"');
  expect(page).toContain('<h1><bdi>api</bdi></h1>');
});

test('--html links to the folder of the reports whatever characters its name has', async () => {
  await writeFile(join(cwd, 'tidemark.yaml'), `${CONFIG}output: "./out #1?"\n`);
  expect((await show('api', '--html', 'api.html')).exit).toBe(0);
  expect(await readFile(join(cwd, 'api.html'), 'utf8')).toContain('href="out%20%231%3F/subjects.html"');
});

test('asks which subject is meant if several match', async () => {
  const { exit, stderr } = await show('web');
  expect(exit).toBe(2);
  expect(stderr).toContain('2 subjects match web\n');
  expect(stderr).toContain('workspace/ws-web (--target acme), workspace/ws-web (--target other)');
  expect((await show('web', '--target', 'other')).stdout).toContain('workspace ws-web of other');
});

test('names similar subjects if none matches, without control characters', async () => {
  const { exit, stderr } = await show('workspace/appi');
  expect(exit).toBe(2);
  expect(stderr).toContain('unknown subject workspace/appi\n');
  expect(stderr).toContain('the most similar are workspace/api (--target acme)');
  expect(stderr).not.toContain('\u001b');
});
