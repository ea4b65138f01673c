import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Workspace } from '../../sandbox/platform/workspaces.ts';
import type { RunResult } from '../../src/run/run.ts';
import { share } from '../helpers/temp.ts';
import { type TestProject, testProject } from '../helpers/test-project.ts';

const SMALL = { workspaces: 20 };
const WORKSPACES = ['--source', 'workspaces'];
const minutesLater = (at: Date, minutes: number) => new Date(at.getTime() + minutes * 60_000).toISOString();

async function asOf(place: TestProject, words: readonly string[] = []): Promise<string> {
  return (await place.pull(words)).json<RunResult>().as_of;
}

describe('workspaces over three pulls', () => {
  const pulled = share(async (cleanup) => {
    const place = await testProject({ ...SMALL, cleanup });
    const { workspaces } = place.sandbox.services.platform.state;
    const [changed, kept, unknown, gone] = workspaces as [Workspace, Workspace, Workspace, Workspace];
    const pull = (minutes: number) => asOf(place, [...WORKSPACES, '--now', minutesLater(place.sandbox.now, minutes)]);
    changed.drifted = false;
    unknown.drifted = null;
    const first = await pull(0);
    changed.drifted = true;
    unknown.drifted = true;
    workspaces.splice(workspaces.indexOf(gone), 1);
    workspaces.reverse();
    const second = await pull(1);
    const present = await place.rows('select external_id from workspaces');
    unknown.drifted = null;
    workspaces.push(gone);
    const third = await pull(2);
    const versions = (id: string) =>
      place.rows(
        `select drifted, valid_from, valid_to from workspaces_history where external_id = $id order by valid_from`,
        { id },
      );
    const times = [first, second, third].map((text) => text.replace('.000Z', 'Z'));
    return { place, changed, kept, unknown, gone, present, times, versions };
  });

  test('an unchanged row gets no new version; a changed one gets exactly one, and the old version ends where it begins', async () => {
    const { place, changed, kept, times, versions } = await pulled();
    const [first, second] = times;
    expect(await versions(changed.id)).toEqual([
      { drifted: false, valid_from: first, valid_to: second },
      { drifted: true, valid_from: second, valid_to: null },
    ]);
    expect(await versions(kept.id)).toMatchObject([{ valid_from: first, valid_to: null }]);
    const [total] = await place.rows('select count(*) as n from workspaces_history');
    expect(total?.n).toBe(20 + 1 + 2 + 1);
  });

  test('null is not false: null, true and null again are three versions', async () => {
    const { unknown, versions } = await pulled();
    expect((await versions(unknown.id)).map(({ drifted }) => drifted)).toEqual([null, true, null]);
  });

  test('a deleted row ends its version, and one that returns begins a new one', async () => {
    const { gone, present, times, versions } = await pulled();
    const [first, second, third] = times;
    expect(present).toHaveLength(19);
    expect(present).not.toContainEqual({ external_id: gone.id });
    expect(await versions(gone.id)).toMatchObject([
      { valid_from: first, valid_to: second },
      { valid_from: third, valid_to: null },
    ]);
  });
});

describe('as_of', () => {
  test('a repeated time, and a clock that went back, are still later than the previous run', async () => {
    const place = await testProject(SMALL);
    const [workspace] = place.sandbox.services.platform.state.workspaces;
    const runs: RunResult[] = [];
    for (const now of [0, 0, -60, 1]) {
      workspace!.updatedAt += 60_000;
      const at = minutesLater(place.sandbox.now, now);
      runs.push((await place.pull([...WORKSPACES, '--now', at])).json<RunResult>());
    }
    const moments = runs.map(({ as_of }) => as_of);
    expect([...moments].sort()).toEqual(moments);
    expect(new Set(moments).size).toBe(4);
    expect(new Set(runs.map(({ run_id }) => run_id)).size).toBe(4);
    const [overlaps] = await place.rows(`
      select count(*) as n from workspaces_history a join workspaces_history b
        on a.external_id = b.external_id and a.valid_from < b.valid_from
      where a.valid_to is null or a.valid_to > b.valid_from`);
    expect(overlaps?.n).toBe(0);
    const [backwards] = await place.rows('select count(*) as n from workspaces_history where valid_to <= valid_from');
    expect(backwards?.n).toBe(0);
  });
});

test('a run whose landing would have the folder of another one, as after a warehouse was lost, has an ID of its own', async () => {
  const place = await testProject(SMALL);
  await mkdir(join(place.folder, 'data', 'landing', '20261001T021500Z'), { recursive: true });
  const { run_id } = (await place.pull(['--source', 'keys'])).json<RunResult>();
  expect(run_id).toBe('20261001T021500Z-2');
});
