import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RunResult } from '../../src/run/run.ts';
import { rewriteWarehouse } from '../helpers/change-warehouse.ts';
import { expectTable } from '../helpers/expect-table.ts';
import { type Cleanup, share } from '../helpers/temp.ts';
import { findTarget, type TestProject, testProject } from '../helpers/test-project.ts';

const SOURCE = ['--source', 'workspaces'];

/** Pulls `before` workspaces, then again without `gone` of them. */
async function shrunk(before: number, gone: number, cleanup?: Cleanup): Promise<TestProject> {
  const place = await testProject({ workspaces: before, ...(cleanup && { cleanup }) });
  await place.pull(SOURCE);
  place.sandbox.services.platform.state.workspaces.splice(0, gone);
  return place;
}

const halved = share((cleanup) => shrunk(20, 11, cleanup));

/** A project that pulled 20 workspaces, of which 9 are left. */
async function fork(): Promise<TestProject> {
  const { folder: from, sandbox } = await halved();
  return testProject({ sandbox, from });
}

async function present(place: TestProject): Promise<unknown> {
  const [row] = await place.rows('select count(*) as n from workspaces');
  return row?.n;
}

test('a pull that would delete more than half of the rows is quarantined: nothing changes and the exit code is 1', async () => {
  const place = await fork();
  const result = await place.pull(SOURCE, 1);
  expect(result.json<RunResult>().pulls[0]).toMatchObject({ status: 'quarantined', rows: null });
  expect(result.stderr).toContain('workspaces: 11 of 20 rows (55 %) disappeared at once');
  expect(result.stderr).toContain('tidemark pull --accept-shrink workspaces');
  expect(await present(place)).toBe(20);
  const [pull] = await place.rows('select status from pulls order by as_of desc limit 1');
  expect(pull).toEqual({ status: 'quarantined' });
});

test('--accept-shrink pulls the source and deletes the rows; the next pull is checked again', async () => {
  const place = await fork();
  await place.pull(SOURCE, 1);
  const asked = place.sandbox.log.length;
  const { pulls } = (await place.pull(['--accept-shrink', 'workspaces'])).json<RunResult>();
  expect(pulls).toMatchObject([{ source: 'workspaces', status: 'complete', deleted: 11 }]);
  expect(place.sandbox.log.length).toBeGreaterThan(asked);
  await expectTable(place, 'workspaces', 'spec');
  await place.pull(SOURCE);
  expect(await present(place)).toBe(9);
});

test.each([
  ['exactly half of them', 20, 10],
  ['two of two: too few to be a mass', 2, 2],
])('%s may be deleted', async (_what, before, gone) => {
  const place = await shrunk(before, gone);
  await place.pull(SOURCE);
  expect(await present(place)).toBe(before - gone);
});

test('three of three are quarantined', async () => {
  const place = await shrunk(3, 3);
  await place.pull(SOURCE, 1);
  expect(await present(place)).toBe(3);
});

/** Asks the same server by another name. */
function moveTarget(place: TestProject, host: string): Promise<void> {
  return place.configure((config) => {
    for (const target of config.targets as { url: string }[]) {
      const url = new URL(target.url);
      url.hostname = host;
      target.url = url.href;
    }
  });
}

test('rows that are missing at another place are not known to be gone, until a person says so', async () => {
  const place = await shrunk(20, 1);
  await moveTarget(place, 'localhost');
  for (const _ of ['the night after', 'and the next']) {
    const { stderr } = await place.pull(SOURCE, 1);
    expect(stderr).toContain('1 of 20 rows disappeared, and the target refers to another place than before');
    expect(await present(place)).toBe(20);
  }
  await place.pull(['--accept-shrink', 'workspaces']);
  expect(await present(place)).toBe(19);
  place.sandbox.services.platform.state.workspaces.splice(0, 1);
  await place.pull(SOURCE);
  expect(await present(place)).toBe(18);
});

test('another place that has all rows is loaded', async () => {
  const place = await shrunk(20, 0);
  await moveTarget(place, 'localhost');
  await place.pull(SOURCE);
  place.sandbox.services.platform.state.workspaces.splice(0, 1);
  await place.pull(SOURCE);
  expect(await present(place)).toBe(19);
});

test('a list of saved views that is empty at once ends neither the views nor their results', async () => {
  const place = await testProject({ workspaces: 4 });
  const sources = ['--source', 'saved_views', '--source', 'saved_view_rows'];
  await place.pull(sources);
  const results = 'select view_id, status, result_rows from saved_view_results order by all';
  const before = await place.rows(results);
  expect(before.length).toBeGreaterThan(2);
  place.sandbox.services.platform.state.views.splice(0);
  const { pulls } = (await place.pull(sources, 1)).json<RunResult>();
  expect(pulls.map(({ source, status }) => [source, status]).sort()).toEqual([
    ['saved_view_rows', 'quarantined'],
    ['saved_views', 'quarantined'],
  ]);
  expect(await place.rows(results)).toEqual(before);
});

test('shrinkPercent sets the threshold', async () => {
  const place = await fork();
  await place.configure((config) => {
    config.shrinkPercent = 60;
  });
  await place.pull(SOURCE);
  expect(await present(place)).toBe(9);
});

test('what another installation answers under the same names is no change, until a person accepts it', async () => {
  let cluster = 'a';
  let takesOver = false;
  const retype = (type: string) => {
    for (const key of place.sandbox.services.secrets.state.keys.values()) Object.assign(key, { type });
  };
  const place = await testProject({
    workspaces: 2,
    flavor: 'hashicorp',
    faultHook: ({ path, headers }) => {
      if (takesOver && path.startsWith('/v1/keymgmt/key/')) {
        takesOver = false;
        cluster = 'c';
        retype('fourth');
      }
      if (path !== '/v1/sys/health') return undefined;
      // No namespace but the root one has the endpoint.
      if (headers['x-vault-namespace'] !== undefined) return { status: 404, body: '{"errors": []}' };
      if (cluster === 'silent') return { status: 403, body: '{"errors": ["permission denied"]}' };
      const body = { initialized: true, sealed: false, cluster_id: cluster, filler: 'x'.repeat(200_000) };
      return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    },
  });
  await place.configure((config) => {
    // The bounds are those of the source, and not of the question who answers.
    Object.assign(findTarget(config, 'vault'), { namespace: 'team', limits: { maxBytes: 200_000 } });
  });
  const keys = ['--source', 'keys'];
  const types = async () => (await place.rows('select distinct type from keys')).map(({ type }) => type);
  const answersOther = async (type: string, letter: string) => {
    retype(type);
    cluster = letter;
    const { stderr } = await place.pull(keys, 1);
    expect(stderr).toMatch(/keys: \d+ of \d+ rows disappeared or changed, and another installation answers/u);
    expect(stderr).toContain(`cluster_id is ${letter}, and was a`);
  };
  await place.pull(keys);
  // As an earlier build leaves it.
  await rewriteWarehouse(place, ['alter table pulls drop column origin', 'delete from schema_digest']);
  await answersOther('first', 'b');
  retype('second');
  cluster = 'a';
  await place.pull(keys);
  cluster = 'silent';
  await place.pull(keys);
  const before = await types();
  expect(before).toEqual(['second']);
  // As `landingDays` after the last pull that was loaded.
  await rm(join(place.folder, 'data', 'landing'), { recursive: true });
  await answersOther('other', 'b');
  expect(await types()).toEqual(before);
  await place.pull([...keys, '--accept-shrink', 'keys']);
  retype('third');
  await place.pull(keys);
  expect(await types()).toEqual(['third']);
  takesOver = true;
  const { stderr: meanwhile } = await place.pull(keys, 1);
  expect(meanwhile).toContain('keys: another installation answers: cluster_id is c, and was b; retrying');
  expect(await types()).toEqual(['third']);
});

test('renaming all workspaces changes rows and deletes none', async () => {
  const place = await testProject({ workspaces: 10 });
  await place.pull(SOURCE);
  for (const workspace of place.sandbox.services.platform.state.workspaces) workspace.name += '-renamed';
  const { pulls } = (await place.pull(SOURCE)).json<RunResult>();
  expect(pulls).toMatchObject([{ changed: 10, deleted: 0, inserted: 0 }]);
});

describe('the landing of a quarantined source', () => {
  const QUARANTINED = ['--source', 'workspaces', '--source', 'agent_pools'];

  /** A run that quarantined `workspaces`, and loaded `agent_pools`. */
  async function quarantined(): Promise<{ readonly place: TestProject; readonly run: string }> {
    const place = await fork();
    const { run_id } = (await place.pull(QUARANTINED, 1)).json<RunResult>();
    return { place, run: run_id };
  }

  test('is not loaded again without acceptance, which --from says', async () => {
    const { place, run } = await quarantined();
    const { stdout, stderr, exit } = await place.tidemark(['pull', '--from', run]);
    expect({ exit, stdout }).toEqual({ exit: 1, stdout: expect.stringContaining('incomplete, 1 of 2 sources') });
    expect(stderr).toContain(`tidemark pull --from ${run} --accept-shrink workspaces`);
    expect(await present(place)).toBe(20);
  });

  test('can be accepted later, without the network', async () => {
    const { place, run } = await quarantined();
    const asked = place.sandbox.log.length;
    const { pulls } = (await place.pull(['--from', run, '--accept-shrink', 'workspaces'])).json<RunResult>();
    expect(pulls).toMatchObject([{ source: 'workspaces', status: 'complete', deleted: 11 }]);
    expect(place.sandbox.log.length).toBe(asked);
    expect(await present(place)).toBe(9);
  });

  test('is not taken for the rows of a new warehouse', async () => {
    const { place, run } = await quarantined();
    await rm(join(place.folder, 'data', 'warehouse.duckdb'), { force: true });
    await rm(join(place.folder, 'data', 'work'), { recursive: true });
    await place.pull(['--from', run], 1);
    expect(await present(place)).toBe(0);
  });
});
