import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseElements } from '../helpers/html.ts';
import { testProject } from '../helpers/test-project.ts';

const HOSTILE = '<img src=x onerror=alert(1)>';

test('a run has a page with what was pulled, changed, found, done and what failed, and the index links it', async () => {
  const project = await testProject({ workspaces: 10 });
  await project.pull(['--source', 'ca_roots', '--source', 'keys']);
  project.sandbox.tick();
  const { roots } = project.sandbox.services.mesh.state;
  if (roots[0]) roots[0] = { ...roots[0], Name: HOSTILE };
  await project.pull(['--source', 'ca_roots']);
  expect((await project.tidemark(['report'])).exit).toBe(0);
  const [last, first] = await project.rows('select run_id from runs order by started_at desc');
  const out = join(project.folder, 'out');
  const html = await readFile(join(out, 'runs', `${last?.run_id}.html`), 'utf8');
  const elements = parseElements(html);
  expect(elements.filter(({ tag }) => tag === 'h2').map(({ text }) => text.replace(/ \d+$/u, ''))).toEqual([
    ...['What failed, and why', 'What was pulled', 'What changed', 'What was found', 'What was done'],
  ]);
  const cells = elements.filter(({ tag }) => tag === 'td').map(({ text }) => text);
  expect(cells).toEqual(expect.arrayContaining(['ca_roots', 'complete', 'renamed', HOSTILE]));
  expect(elements.some(({ tag }) => tag === 'img')).toBe(false);
  expect(html).toContain('Everything that the run tried is complete.');
  const index = parseElements(await readFile(join(out, 'index.html'), 'utf8'));
  expect(index.map(({ attributes }) => attributes.href)).toContain(`runs/${last?.run_id}.html`);
  expect(existsSync(join(out, 'runs', `${first?.run_id}.html`))).toBe(false);
});

test('a pull that fails is named with its reason', async () => {
  const project = await testProject({
    workspaces: 10,
    faultHook: ({ path }) => (path.includes('/connect/ca') ? { status: 403, body: 'no' } : undefined),
  });
  await project.pull(['--source', 'ca_roots', '--source', 'keys'], 1);
  expect((await project.tidemark(['report'])).exit).toBe(0);
  const [run] = await project.rows('select run_id from runs');
  const [pull] = await project.rows(`select error from pulls where status = 'failed'`);
  const cells = parseElements(await readFile(join(project.folder, 'out', 'runs', `${run?.run_id}.html`), 'utf8'))
    .filter(({ tag }) => tag === 'td')
    .map(({ text }) => text);
  expect(cells).toEqual(expect.arrayContaining(['pull', 'ca_roots', 'failed', String(pull?.error).slice(0, 200)]));
});

test('pages of runs older than reportDays are removed', async () => {
  const project = await testProject({ workspaces: 10 });
  await project.pull(['--source', 'keys']);
  await project.tidemark(['report', 'keys']);
  const [run] = await project.rows('select run_id from runs');
  const page = join(project.folder, 'out', 'runs', `${run?.run_id}.html`);
  expect(existsSync(page)).toBe(true);
  await project.pull(['--source', 'keys', '--now', '2027-06-01T02:15:00Z']);
  await project.tidemark(['report', 'keys', '--now', '2027-06-01T03:00:00Z']);
  expect(existsSync(page)).toBe(false);
});

test('a table of a user that fails is one error, and the reports and the index are written', async () => {
  const project = await testProject({ workspaces: 10 });
  await project.pull(['--source', 'keys']);
  await mkdir(join(project.folder, 'queries', 'runs'), { recursive: true });
  await writeFile(join(project.folder, 'queries', 'runs', 'wrong.sql'), '-- title: Wrong\nselect wrong from pulls');
  const { exit, stderr } = await project.tidemark(['report', 'keys']);
  expect([exit, stderr]).toEqual([4, expect.stringContaining('queries/runs/wrong.sql:2: ')]);
  await writeFile(join(project.folder, 'queries', 'runs', 'wrong.sql'), '-- labls: a=A\nselect 1 as a');
  const misspelt = await project.tidemark(['report', 'keys']);
  expect([misspelt.exit, misspelt.stderr]).toEqual([4, expect.stringContaining('did you mean labels?')]);
  for (const name of ['keys.html', 'index.html']) expect(existsSync(join(project.folder, 'out', name))).toBe(true);
});
