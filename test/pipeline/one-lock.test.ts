import { watch } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type TestProject, testProject } from '../helpers/test-project.ts';

/** How often the lock of the warehouse was acquired: its record counts that. */
async function countLocks({ folder }: TestProject): Promise<number> {
  return JSON.parse(await readFile(join(folder, 'data', 'lock.owner'), 'utf8')).fence;
}

/** Counts the files that are renamed to the published warehouse during `work`. */
async function countPublishes({ folder }: TestProject, work: () => Promise<void>): Promise<number> {
  const data = join(folder, 'data');
  let publishes = 0;
  const watcher = watch(data);
  const end = new Promise<void>((resolve) => {
    watcher.on('change', (event, name) => {
      if (event === 'rename' && name === 'warehouse.duckdb') publishes++;
      if (name === 'end') resolve();
    });
  });
  try {
    await work();
    await writeFile(join(data, 'end'), ''); // events arrive in order: all others have arrived by then
    await end;
  } finally {
    watcher.close();
  }
  return publishes;
}

test('a nightly run with all of its stages takes the lock once and publishes once', async () => {
  const project = await testProject({ workspaces: 5 });
  await mkdir(join(project.folder, 'jobs'));
  // as the nightly job of the package, with less to pull and to report
  await writeFile(
    join(project.folder, 'jobs', 'nightly.yaml'),
    stringify({ pull: ['workspaces', 'keys'], reports: ['drift'] }),
  );
  const publishes = await countPublishes(project, async () => {
    const { exit, stdout } = await project.tidemark(['run', 'nightly', '--json']);
    expect(exit).toBe(0);
    const { pulls, findings, reports } = JSON.parse(stdout);
    expect([pulls.length > 0, findings.open > 0, reports.length]).toEqual([true, true, 1]);
  });
  expect({ locks: await countLocks(project), publishes }).toEqual({ locks: 1, publishes: 1 });
});

test('a run that applies actions takes the lock once, and publishes once before them and once after them', async () => {
  const project = await testProject({ workspaces: 5 });
  await mkdir(join(project.folder, 'jobs'));
  const playbooks = [{ name: 'pin-drift-view', mode: 'apply', approvedBy: 'platform on call' }];
  await writeFile(
    join(project.folder, 'jobs', 'act.yaml'),
    stringify({ pull: ['saved_views', 'workspaces'], reports: ['overview'], playbooks }),
  );
  const publishes = await countPublishes(project, async () => {
    expect((await project.tidemark(['run', 'act'])).exit).toBe(0);
  });
  expect({ locks: await countLocks(project), publishes }).toEqual({ locks: 1, publishes: 2 });
});
