import { appendFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { FaultHook } from '../../../sandbox/router.ts';
import { startServer } from '../../helpers/http-service.ts';
import { share } from '../../helpers/temp.ts';
import { findTarget, type TestProject, testProject } from '../../helpers/test-project.ts';
import { findInconsistencies, readContents } from '../../helpers/warehouse-checks.ts';

const SIZE = { workspaces: 30 };
const MESH = 'consul';
/** The mark of a run beside the data folder. */
const OUTSIDE = JSON.stringify({ run_id: '../..', job: 'pull', started_at: '2026-10-02T02:15:00Z', pulls: [] });

const minutesLater = (place: TestProject, minutes: number) =>
  new Date(place.sandbox.now.getTime() + minutes * 60_000).toISOString();

const asked = (place: TestProject, path: RegExp) =>
  place.sandbox.log.filter((request) => path.test(request.path)).length;

async function oneByOne(place: TestProject): Promise<TestProject> {
  await place.configure((config) => {
    for (const target of config.targets) target.limits = { concurrency: 1, requestsPerSecond: 100_000 };
  });
  return place;
}

/** A project that pulled once, and whose next run was stopped while it extracted agents, whose requests come last. */
const stopped = share(async (cleanup) => {
  const stop = new AbortController();
  let isTrapped = false;
  const faultHook: FaultHook = ({ path }) => {
    if (isTrapped && /\/agents$/u.test(path)) stop.abort(new Error('stopped by the test'));
    return undefined;
  };
  const place = await oneByOne(await testProject({ ...SIZE, faultHook, cleanup }));
  await place.pull(['--target', 'acme']);
  place.sandbox.tick();
  isTrapped = true;
  const run = await place.tidemark(['pull', '--target', 'acme'], { signal: stop.signal });
  isTrapped = false;
  return { place, run };
});

/** A copy of it, which pulls from the same services: a run is resumed for these alone. */
async function interrupted() {
  const { place: first, run } = await stopped();
  const place = await oneByOne(await testProject({ from: first.folder, sandbox: first.sandbox }));
  place.sandbox.log.length = 0;
  return { place, run };
}

describe('an interrupted run', () => {
  test('exits with 1, is recorded, and publishes the complete sources', async () => {
    const { place, run } = await interrupted();
    expect(run.exit).toBe(1);
    expect(await place.rows('select status from runs order by started_at')).toEqual([
      { status: 'complete' },
      { status: 'interrupted' },
    ]);
    expect(await findInconsistencies(join(place.folder, 'data', 'warehouse.duckdb'))).toEqual([]);
  });

  test('is resumed: landed sources are not extracted again, and the pull counts once', async () => {
    const { place } = await interrupted();
    const next = await place.tidemark(['pull', '--target', 'acme', '--now', minutesLater(place, 30)]);
    expect(next.exit, next.stderr).toBe(0);
    expect(next.stderr).toMatch(/resuming run 20261002T021500Z, which was interrupted: \d+ sources? had landed/u);
    const pulls = await place.rows('select * from pulls order by as_of, source');
    const latest = pulls.filter(({ run_id }) => run_id === pulls.at(-1)?.run_id);
    expect(latest.length).toBe(8);
    expect(latest.every(({ status }) => status === 'complete')).toBe(true);
    expect(latest.filter(({ requests }) => requests === 0).length).toBeGreaterThan(0);

    const run = await place.rows("select distinct previous_as_of from source_state where target = 'acme' order by all");
    expect(run, 'the previous complete pull is that of the day before').toEqual([
      { previous_as_of: '2026-10-01T02:15:00Z' },
    ]);
    const other = await testProject({ workspaces: 30 });
    other.sandbox.tick();
    await other.pull(['--target', 'acme']);
    const file = (folder: string) => join(folder, 'data', 'warehouse.duckdb');
    expect(await readContents(file(place.folder))).toEqual(await readContents(file(other.folder)));
  });

  test('is not resumed again once the next run has ended', async () => {
    const { place } = await interrupted();
    await place.tidemark(['pull', '--target', 'acme', '--now', minutesLater(place, 30)]);
    const third = await place.tidemark(['pull', '--target', 'acme', '--now', minutesLater(place, 40)]);
    expect(third.stderr).not.toContain('resuming run');
    expect(asked(place, /explorer\/export\/csv/u)).toBeGreaterThanOrEqual(4);
  });

  test('is resumed without what another job has loaded since', async () => {
    const { place } = await interrupted();
    await mkdir(join(place.folder, 'jobs'), { recursive: true });
    await writeFile(join(place.folder, 'jobs', 'other.yaml'), 'pull: [saved_views]\nreports: []\n');
    const other = await place.tidemark(['run', 'other', '--now', minutesLater(place, 10)]);
    expect(other.exit, other.stderr).toBe(0);
    const at = minutesLater(place, 30);
    expect((await place.tidemark(['pull', '--target', 'acme', '--now', at])).stderr).toContain('resuming run');
    const rows = await place.rows(`select source, requests = 0 as is_resumed from pulls where as_of = '${at}'`);
    const resumed = new Map(rows.map(({ source, is_resumed }) => [source, is_resumed]));
    expect([resumed.get('saved_views'), resumed.get('agent_pools')]).toEqual([false, true]);
  });

  test('is extracted again after six hours, or with --fresh', async () => {
    for (const words of [['--now', 'later'], ['--fresh']]) {
      const { place } = await interrupted();
      const at = words.includes('later') ? minutesLater(place, 361) : minutesLater(place, 30);
      const rest = words.filter((word) => word === '--fresh');
      const next = await place.tidemark(['pull', '--target', 'acme', ...rest, '--now', at]);
      expect(next.exit, next.stderr).toBe(0);
      expect(next.stderr).not.toContain('resuming run');
      const [free] = await place.rows(
        'select count(*) as n from pulls where run_id = (select max(run_id) from runs) and requests = 0',
      );
      expect(free).toEqual({ n: 0 });
    }
  });

  test('is extracted again if the target is another service', async () => {
    const { place } = await interrupted();
    await place.configure((config) => {
      findTarget(config, 'acme').organization = 'another';
    });
    const next = await place.tidemark(['pull', '--target', 'acme', '--now', minutesLater(place, 30)]);
    expect(next.stderr).not.toContain('resuming run');
    expect(next.exit).toBe(3);
  });

  test('is resumed from what it had landed of other targets', async () => {
    const silent = await startServer(() => undefined);
    onTestFinished(() => silent.close());
    const place = await testProject(SIZE);
    const setUrl = (origin: string) =>
      place.configure((config) => {
        findTarget(config, MESH).url = `${origin}/v1`;
      });
    await setUrl(silent.origin);
    const stop = new AbortController();
    const words = ['pull', '--source', 'autoscaler_health', '--source', 'ca_roots'];
    const run = place.tidemark(words, { signal: stop.signal });
    const landed = async () => {
      const names = await readdir(join(place.folder, 'data', 'landing'), { recursive: true });
      return names.filter((name) => name.endsWith('autoscaler_health.json'));
    };
    await expect.poll(landed).toHaveLength(1);
    stop.abort(new Error('stopped by the test'));
    expect((await run).exit).toBe(1);
    await rm(join(place.folder, 'data', 'work'), { recursive: true });
    await rm(join(place.folder, 'data', 'warehouse.duckdb'));
    await setUrl(new URL(place.sandbox.urls.mesh).origin);
    const next = await place.tidemark([...words, '--now', minutesLater(place, 30)]);
    expect(next.exit, next.stderr).toBe(0);
    expect(next.stderr).toContain('which was interrupted: 1 source had landed');
    expect(await place.rows('select source, requests from pulls order by all')).toEqual([
      { source: 'autoscaler_health', requests: 0 },
      { source: 'ca_roots', requests: expect.any(Number) },
    ]);
  });

  test.each([
    ['of which a manifest was lost with the power', 'acme/saved_views.json', '\0\0', true],
    ['of which a manifest says nothing', 'acme/saved_views.json', 'null', true],
    ['whose own mark says nothing', 'unfinished.json', 'null', false],
    ['whose own mark names another folder', 'unfinished.json', OUTSIDE, false],
    ['beside which is a file that is no landing', '../notes.txt', '', true],
  ])('%s does not stop the next run', async (_, file, text, continues) => {
    const { place } = await interrupted();
    await writeFile(join(place.folder, 'data', 'landing', '20261002T021500Z', file), text);
    const next = await place.tidemark(['pull', '--target', 'acme', '--now', minutesLater(place, 30)]);
    expect(next.exit, next.stderr).toBe(0);
    expect(next.stderr.includes('resuming run')).toBe(continues);
  });

  test('is loaded from its landing if the loads are lost, except for a changed file', async () => {
    const { place } = await interrupted();
    const data = join(place.folder, 'data');
    await rm(join(data, 'work'), { recursive: true });
    await rm(join(data, 'warehouse.duckdb'));
    const landed = join(data, 'landing', '20261002T021500Z', 'acme');
    const manifests = (await readdir(landed)).filter((name) => name.endsWith('.json'));
    await appendFile(join(landed, 'saved_views.ndjson.gz'), 'x');
    const next = await place.tidemark(['pull', '--target', 'acme', '--now', minutesLater(place, 30)]);
    expect(next.exit, next.stderr).toBe(0);
    expect(next.stderr).toMatch(/saved_views: .*; extracting again/u);
    const [free] = await place.rows('select count(*) as n from pulls where requests = 0');
    expect(free).toEqual({ n: manifests.length - 1 });
    expect(await place.rows('select distinct extracted_at from pulls where requests = 0')).toEqual([
      { extracted_at: '2026-10-02T02:15:00Z' },
    ]);
  });
});
