import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type TestProject, testProject } from '../helpers/test-project.ts';

const FILES = {
  'queries/reports/mine/summary.sql': '-- title: Mine\nselect nothing_known as n',
  'reports/mine.hbs': '{{#> page}}{{/page}}',
};

async function withoutSubjectPages(): Promise<TestProject> {
  const place = await testProject({ workspaces: 10 });
  await place.configure((config) => {
    config.subjectPages = 0;
  });
  return place;
}

async function put({ folder }: TestProject, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

test('unknown names in a job are reported together, before the run starts', async () => {
  const place = await testProject({ workspaces: 10 });
  const wrong = {
    schedule: '0 2 * * *',
    pull: ['workspace'],
    reports: ['drft', 'digest'],
    mail: { to: 'a@b.example' },
  };
  await put(place, { 'jobs/wrong.yaml': stringify(wrong) });
  for (const words of [['run', 'wrong'], ['schedule']]) {
    const { exit, stderr } = await place.tidemark(words);
    expect(exit).toBe(2);
    expect(stderr).toContain('jobs/wrong.yaml: pull: unknown source workspace; did you mean workspaces?');
    expect(stderr).toContain('jobs/wrong.yaml: reports: unknown report drft; did you mean drift?');
    expect(stderr).toContain('jobs/wrong.yaml: reports: unknown report digest; ');
    expect(stderr).toContain('tidemark.yaml: mail: is missing');
  }
  expect((await place.tidemark(['sql', 'from runs'])).exit).toBe(3); // there is no warehouse yet
});

test('`--target` pulls only that target; an unknown one is an error', async () => {
  const place = await testProject({ workspaces: 10 });
  await put(place, { 'jobs/small.yaml': stringify({ schedule: '0 2 * * *', pull: 'all', reports: [] }) });
  const { exit, stdout } = await place.tidemark(['--json', 'run', 'small', '--target', 'scaler', '--target', 'consul']);
  expect(exit).toBe(0);
  const { pulls } = JSON.parse(stdout) as { pulls: { target: string }[] };
  expect(new Set(pulls.map(({ target }) => target))).toEqual(new Set(['scaler', 'consul']));
  const unknown = await place.tidemark(['run', 'small', '--target', 'scale']);
  expect(unknown).toMatchObject({ exit: 2, stderr: expect.stringContaining('did you mean scaler?') });
});

test('a schedule reports the issues of all job files together', async () => {
  const place = await testProject({ workspaces: 10 });
  await put(place, { 'jobs/a.yaml': 'schedule: never', 'jobs/b.yaml': 'pull: [1]' });
  const { exit, stderr } = await place.tidemark(['schedule']);
  expect(exit).toBe(2);
  expect(stderr).toMatch(
    /jobs\/a\.yaml:1: schedule: .*\n.*jobs\/b\.yaml:1: pull: must be all, false or a list of sources/u,
  );
});

test('a broken job stops neither `status` nor the list of the others', async () => {
  const place = await testProject({ workspaces: 10 });
  await put(place, { 'jobs/a.yaml': 'schedule: never' });
  const list = await place.tidemark(['schedule', '--list']);
  expect([list.exit, list.stdout]).toEqual([2, expect.stringMatching(/ nightly \(UTC\)\n.* weekly \(UTC\)\n$/su)]);
  expect(list.stderr).toContain('jobs: jobs/a.yaml:1: schedule: must be a time');
  await place.tidemark(['pull', '--source', 'ca_roots']);
  const status = await place.tidemark(['status', '--json']);
  const { next } = status.json<{ next: { job: string }[] }>();
  expect([status.exit, new Set(next.map(({ job }) => job))]).toEqual([0, new Set(['nightly', 'weekly'])]);
  expect(status.stderr).toContain('warning: jobs/a.yaml:1: schedule: must be a time');
});

test('a failed report does not stop the others: a run exits with 1, `tidemark report` with 4', async () => {
  const place = await withoutSubjectPages();
  const job = { pull: ['workspaces'], reports: ['mine', 'drift'] };
  await put(place, { ...FILES, 'jobs/nightly.yaml': stringify(job) });
  const run = await place.tidemark(['run', 'nightly', '--json']);
  expect([run.exit, run.json()]).toMatchObject([1, { reports: ['drift'], failed_reports: [{ report: 'mine' }] }]);
  expect(run.stderr).toContain('report mine: queries/reports/mine/summary.sql:2: ');
  const { exit, stdout, stderr } = await place.tidemark(['report', 'drift', 'mine']);
  expect([exit, stdout.split('\n').map((file) => file.split('/').at(-1))]).toEqual([
    4,
    ['drift.html', 'drift.txt', 'drift.json', ''],
  ]);
  expect(stderr).toContain('queries/reports/mine/summary.sql:2: ');
});
