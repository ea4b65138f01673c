import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { prepareProject, type TestProject, testProject } from '../helpers/test-project.ts';

/** Nights of a source, the last one long after the others. */
const NIGHTS = ['2026-10-01', '2026-10-02', '2026-10-03', '2026-10-04', '2026-10-05', '2027-06-20'];
const LATE = ['--now', '2027-06-20T03:00:00Z'];

let project: TestProject;

function nameRoot({ sandbox }: TestProject, night = ''): void {
  const { roots } = sandbox.services.mesh.state;
  if (roots[0]) roots[0] = { ...roots[0], Name: `of ${night}` };
}

const prepareNights = () =>
  prepareProject('nights-of-renamed-roots', { workspaces: 10 }, async (place) => {
    for (const night of NIGHTS) {
      nameRoot(place, night);
      await place.pull(['--source', 'ca_roots', '--now', `${night}T02:15:00Z`]);
    }
  });

beforeEach(async () => {
  project = await testProject({ workspaces: 10, from: await prepareNights() });
  nameRoot(project, NIGHTS.at(-1));
  const archive = join(project.folder, 'out', 'archive', '2026-10-01');
  await mkdir(archive, { recursive: true });
  await writeFile(join(archive, 'drift.html'), 'a page');
  await mkdir(join(project.folder, 'data', 'landing', '20261001T021500Z'), { recursive: true });
});

const names = async () => (await project.rows('select name from ca_roots_history order by valid_from')).length;

interface Result {
  readonly removed: boolean;
  readonly removals: readonly { readonly what: string; readonly count: number; readonly bytes: number }[];
}

const pruned = async (...words: string[]) =>
  (await project.tidemark(['prune', '--json', ...LATE, ...words])).json<Result>();
const summary = ({ removals }: Result) => Object.fromEntries(removals.map(({ what, count }) => [what, count]));

test('prune shows what goes of each table and folder, and with --yes it goes', async () => {
  await project.configure((config) => {
    config.historyDays = 35;
  });
  const before = await names();
  expect((await project.tidemark(['prune', ...LATE])).stdout).toContain('nothing was removed');
  const shown = await pruned();
  expect(shown.removed).toBe(false);
  expect(summary(shown)).toMatchObject({ landings: 1, plans: 0, reports: 1, ca_roots_history: 2, pulls: 2 });
  expect(shown.removals.find(({ what }) => what === 'reports')?.bytes).toBe('a page'.length);
  expect(await pruned('--dry-run')).toEqual(shown);
  expect(await names()).toBe(before);
  expect(await pruned('--yes')).toEqual({ ...shown, removed: true });
  expect(await names()).toBe(before - 2);
  expect(existsSync(join(project.folder, 'out', 'archive', '2026-10-01'))).toBe(false);
  expect(await readdir(join(project.folder, 'data', 'landing'))).not.toContain('20261001T021500Z');
  expect(summary(await pruned())).toEqual({ landings: 0, plans: 0, reports: 0 });
  for (const option of [[], ['--yes']]) {
    const { stdout } = await project.tidemark(['prune', ...option, ...LATE]);
    expect(stdout).toBe('there is nothing to remove\n');
  }
  const past = await project.tidemark(['sql', '--as-of', '2026-10-02', 'from ca_roots', ...LATE]);
  expect(past).toMatchObject({ exit: 2, stderr: expect.stringContaining('is before the first pull, 2026-10-03') });
});

test('a run removes it as well; without historyDays the history has no end', async () => {
  const before = await names();
  expect(summary(await pruned())).not.toHaveProperty('ca_roots_history');
  await project.pull(['--source', 'ca_roots', '--now', '2027-06-21T02:15:00Z']);
  expect(await names()).toBe(before);
  await project.configure((config) => {
    config.historyDays = 35;
  });
  await project.pull(['--source', 'ca_roots', '--now', '2027-06-22T02:15:00Z']);
  expect(await names()).toBe(before - 2);
});

test('both options, and a historyDays that digests do not reach, are refused', async () => {
  expect(await project.tidemark(['prune', '--yes', '--dry-run'])).toMatchObject({ exit: 2 });
  await project.configure((config) => {
    config.historyDays = 7;
  });
  const { exit, stderr } = await project.tidemark(['prune']);
  expect({ exit, stderr }).toEqual({ exit: 2, stderr: expect.stringContaining('historyDays: must be 35 or more') });
});
