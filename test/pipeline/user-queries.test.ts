import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { findTarget, testProject } from '../helpers/test-project.ts';
import { writeJob } from '../mail/mail-project.ts';

async function projectWith(files: Readonly<Record<string, string>>) {
  const place = await testProject({ workspaces: 2 });
  await writeJob(place, { pull: 'all', reports: ['keys'] });
  await place.configure((config) => {
    config.targets = [findTarget(config, 'vault')];
  });
  for (const [name, text] of Object.entries(files)) {
    const file = join(place.folder, 'queries', name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  return place;
}

test('a kind of subject that fails takes neither the night nor the other subjects away', async () => {
  const place = await projectWith({
    'subjects/mine.sql': '-- subject: mine\n-- title: Mine\n-- table: keys\nselect nothing_known',
  });
  const problem = /queries\/subjects\/mine\.sql: Binder Error: .*nothing_known/u;
  const run = await place.tidemark(['run', 'nightly']);
  expect([run.exit, run.stderr]).toEqual([1, expect.stringMatching(problem)]);
  expect(run.stdout).toMatch(/; failed: report subjects\nreports in \S+: keys\n$/u);
  const [key] = await place.rows('select name from keys order by name limit 1');
  const shown = await place.tidemark(['show', `key/${key?.name}`]);
  expect([shown.exit, shown.stdout]).toEqual([0, expect.stringContaining(String(key?.name))]);
  const mine = await place.tidemark(['show', 'mine/x']);
  expect([mine.exit, mine.stderr]).toEqual([4, expect.stringMatching(problem)]);
});

test('a deadline that cannot be a statement takes no night away', async () => {
  const place = await projectWith({ 'deadlines/mine.sql': 'select $no_such_threshold', 'deadlines/.#mine.sql': '' });
  expect((await place.tidemark(['run', 'nightly'])).exit).toBe(0);
  expect(await place.rows("select subject_name from deadlines where kind = 'not known'")).toEqual([
    { subject_name: 'queries/deadlines/mine.sql' },
  ]);
});

test('a saved query with an invalid header stops no other query', async () => {
  const place = await projectWith({ 'saved/mine.sql': '-- param: n int32\nselect 1\n' });
  await place.pull();
  const problem = 'queries/saved/mine.sql: `-- param: n int32` is not a parameter';
  expect((await place.tidemark(['sql', 'select 1'])).exit).toBe(0);
  expect((await place.tidemark(['sql', '--saved', 'keys-by-provider'])).exit).toBe(0);
  expect((await place.tidemark(['sql', '--list'])).stdout).toContain('mine ');
  const own = await place.tidemark(['sql', '--saved', 'mine']);
  expect([own.exit, own.stderr]).toEqual([4, expect.stringContaining(problem)]);
});
