import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Manifest } from '../../../src/landing/store.ts';
import { unpackLandings } from '../../helpers/landings.ts';
import { findTarget, type TestProject, testProject } from '../../helpers/test-project.ts';
import { QUICK } from './quick.ts';

const VIEWS = ['workspaces', 'tf_versions', 'providers', 'modules'] as const;

interface Heavy {
  /** Queries that match more rows than this overload the service. */
  readonly most: number;
  readonly status?: number;
  /** Whether requests for the total and a sample overload it as well. */
  readonly pagesToo?: boolean;
}

/** A sandbox whose explorer responds with 504 to queries that match too many rows. */
async function heavy({ most, status = 504, pagesToo = false }: Heavy): Promise<TestProject> {
  let place: TestProject | undefined;
  let probing = false;
  place = await testProject({
    workspaces: 120,
    rateHeaders: most >= 0, // advertised limits would be kept while nothing responds
    faultHook: (ask, service) => {
      const csv = ask.path.endsWith('/explorer/export/csv');
      const page = ask.path.endsWith('/explorer') && Number(ask.query.get('page[size]')) <= 100;
      if (service.kind !== 'platform' || probing || !(csv || (page && pagesToo))) return undefined;
      probing = true;
      const route = service.routes.find((known) => known.path.endsWith('/explorer/export/csv'))!;
      const { organization } = place!.sandbox.services.platform.state;
      const { body } = route.handle({ ...ask, params: { organization } });
      probing = false;
      const rows = [...(typeof body === 'string' ? [body] : (body ?? []))].join('').trim().split('\n').length - 1;
      return rows > most ? { status, body: 'the query took too long' } : undefined;
    },
  });
  return place;
}

async function manifest(place: TestProject, view: string): Promise<Manifest> {
  await unpackLandings(place.folder);
  const [run] = (await readdir(join(place.folder, 'data', 'landing'))).slice(-1);
  return JSON.parse(await readFile(join(place.folder, 'data', 'landing', run!, 'acme', `${view}.json`), 'utf8'));
}

describe('an explorer query that overloads the service', () => {
  test.each(VIEWS)('%s: is fetched in partitions, each row once', async (view) => {
    const plain = await testProject({ workspaces: 120 });
    await plain.pull(['--source', view]);
    const whole = await plain.rows(`select * from ${view} order by all`);
    const place = await heavy({ most: Math.ceil(whole.length / 3) });
    const run = await place.tidemark(['pull', '--source', view], { timeouts: QUICK });
    expect(run.exit, run.stderr).toBe(0);
    expect(run.stderr).toContain('fetching it in partitions');
    expect(await place.rows(`select * from ${view} order by all`)).toEqual(whole);
    const [pull] = await place.rows('select rows, expected_rows from pulls');
    expect(pull).toEqual({ rows: whole.length, expected_rows: whole.length });
    expect((await manifest(place, view)).files.length).toBeGreaterThan(2);
  });

  test('partitions are found without the total or a sample', async () => {
    const place = await heavy({ most: 60, pagesToo: true, status: 500 });
    const run = await place.tidemark(['pull', '--source', 'workspaces'], { timeouts: QUICK });
    expect(run.exit, run.stderr).toBe(0);
    const [row] = await place.rows('select count(*) as rows, count(distinct external_id) as ids from workspaces');
    expect(row).toEqual({ rows: 120, ids: 120 });
  });

  test('partitions are found if most characters split nothing, as in versions', async () => {
    const plain = await testProject({ workspaces: 120 });
    await plain.pull(['--source', 'tf_versions']);
    const whole = await plain.rows('select * from tf_versions order by all');
    const place = await heavy({ most: Math.ceil(whole.length / 2), pagesToo: true });
    const run = await place.tidemark(['pull', '--source', 'tf_versions'], { timeouts: QUICK });
    expect(run.exit, run.stderr).toBe(0);
    expect(await place.rows('select * from tf_versions order by all')).toEqual(whole);
  });

  test('JSON pages are partitioned as well', async () => {
    const place = await heavy({ most: 60, pagesToo: true });
    await place.configure((config) => {
      findTarget(config, 'acme').explorer = 'json';
    });
    const run = await place.tidemark(['pull', '--source', 'workspaces'], { timeouts: QUICK });
    expect(run.exit, run.stderr).toBe(0);
    const [row] = await place.rows('select count(*) as rows, count(distinct external_id) as ids from workspaces');
    expect(row).toEqual({ rows: 120, ids: 120 });
  });

  test('an outage ends the partitioning', async () => {
    const place = await heavy({ most: -1, pagesToo: true, status: 503 });
    const run = await place.tidemark(['pull', '--source', 'workspaces'], { timeouts: QUICK });
    expect(run.exit, run.stderr).toBe(3);
    expect(run.stderr).toContain('503 server');
    expect(place.sandbox.log.length).toBeLessThan(100);
  });
});
