import { describe, expect, test } from 'vitest';
import type { FaultHook } from '../../sandbox/router.ts';
import type { Request } from '../../sandbox/types.ts';
import { createTargets } from '../../src/config/config.ts';
import { HOUR_MS } from '../../src/core/clock.ts';
import type { RunResult } from '../../src/run/run.ts';
import { type TestProject, testProject } from '../helpers/test-project.ts';

/** What the explorer alone tells of a workspace. */
const UNKNOWN = [
  'all_checks_succeeded',
  'checks_errored',
  'checks_failed',
  'checks_passed',
  'checks_unknown',
  'current_rum_count',
  'drifted',
  'extra',
  'module_count',
  'modules',
  'provider_count',
  'providers',
  'resources_drifted',
  'resources_undrifted',
  'state_version_iac_version',
];
const WORDS = ['--source', 'workspaces', '--source', 'tf_versions'];

function useExplorer(place: TestProject, explorer: 'csv' | 'workspaces'): Promise<void> {
  return place.configure(({ targets }) => Object.assign(targets[0] ?? {}, { explorer }));
}

async function unknownColumns(place: TestProject, source = 'workspaces') {
  const [row] = await place.rows(`select unknown_columns from source_state where source = '${source}'`);
  return row?.unknown_columns as Readonly<Record<string, string>>;
}

test('the list of workspaces has the rows of the explorer, but for the columns that the explorer alone tells', async () => {
  const place = await testProject({ workspaces: 250, flavor: 'hashicorp' });
  const read = async () => ({
    rows: await place.rows(`select * exclude (${UNKNOWN.join(', ')}) from workspaces order by external_id`),
    versions: await place.rows('select * exclude (extra) from tf_versions order by version'),
  });
  await place.pull(WORDS);
  const told = await read();
  expect(told.rows).toHaveLength(250);
  await useExplorer(place, 'workspaces');
  expect((await place.pull(WORDS)).json<RunResult>().pulls).toMatchObject([
    { source: 'workspaces', status: 'complete', rows: 250, expected_rows: 250, requests: 3 },
    { source: 'tf_versions', status: 'complete', requests: 3 },
  ]);
  expect(await read()).toEqual(told);
  expect(await place.rows(`select distinct ${UNKNOWN.join(', ')} from workspaces`)).toEqual([
    Object.fromEntries(UNKNOWN.map((name) => [name, null])),
  ]);
  expect(Object.keys(await unknownColumns(place)).sort()).toEqual(UNKNOWN);
  expect(await unknownColumns(place, 'tf_versions')).toEqual({
    extra: 'only the explorer tells it, which the service does not have (explorer: workspaces)',
  });
  expect(await place.rows('from unknown_parts')).toEqual([]);
  const unanswered = "select source, as_of from source_state where status = 'unsupported' order by source";
  expect((await place.rows(unanswered)).map(({ source }) => source)).toEqual([
    'modules',
    'providers',
    'saved_view_rows',
    'saved_views',
  ]);
});

test('a switch to the list of workspaces and back resolves nothing, and nothing counts as changed', async () => {
  const place = await testProject({ workspaces: 40 });
  await place.configure((config) => {
    config.targets = config.targets.slice(0, 1);
    Object.assign(config.targets[0] ?? {}, { without: ['agents', 'agent_pools'] });
  });
  const at = (hours: number) => new Date(place.sandbox.now.getTime() + hours * HOUR_MS).toISOString();
  const night = async (hours: number, explorer: 'csv' | 'workspaces') => {
    await useExplorer(place, explorer);
    const { exit, stderr } = await place.tidemark(['run', 'nightly', '--now', at(hours)]);
    expect(exit, stderr).toBe(0);
  };
  const states = () =>
    place.rows('select rule, subject_id, state <> $resolved as is_open from findings order by all', {
      resolved: 'resolved',
    });
  const modules = () => place.rows('from modules order by all');
  await night(0, 'csv');
  const before = { states: await states(), modules: await modules() };
  expect(new Set(before.states.map(({ rule }) => rule))).toContain('drifted-workspace');

  await night(24, 'workspaces');
  expect({ states: await states(), modules: await modules() }).toEqual(before);
  expect(await place.rows('select distinct "table", "column" from changes where "table" <> \'agents\'')).toEqual([]);
  const unassessed = 'select rule from unassessed_rules where ended_at is null order by rule';
  const rules = (await place.rows(unassessed)).map(({ rule }) => rule);
  for (const rule of ['drifted-workspace', 'failing-checks', 'module-sprawl', 'dead-saved-view', 'resource-jump'])
    expect(rules).toContain(rule);
  for (const rule of ['workspace-without-vcs', 'outdated-version', 'run-waiting', 'stale-apply', 'stale-source'])
    expect(rules).not.toContain(rule);
  const diff = await place.tidemark(['diff', at(0), at(24)]);
  expect(diff.stdout).not.toMatch(/drifted|checks_failed|current_rum_count/u);
  expect(`${diff.stdout}${diff.stderr}`).toMatch(/modules.*not known/u);

  await night(48, 'csv');
  expect(await states()).toEqual(before.states);
  expect(await place.rows(unassessed)).toEqual([]);
  expect(await place.rows('select distinct "table", "column" from changes where "table" <> \'agents\'')).toEqual([]);
});

/** Answers the list of workspaces with what `change` makes of the sandbox's answer. */
function answerList(
  change: (document: Record<string, unknown>, request: Request, page: number) => object | undefined,
): FaultHook {
  return (request, service) => {
    if (!request.path.endsWith('/workspaces')) return undefined;
    const route = service.routes.find(({ path }) => path.endsWith('/workspaces'));
    const response = route?.handle({ ...request, params: { organization: 'acme' } });
    const document = JSON.parse(String(response?.body)) as Record<string, unknown>;
    const changed = change(document, request, Number(request.query.get('page[number]') ?? 1));
    return changed && { status: 200, ...response, body: JSON.stringify(changed) };
  };
}

describe('a service that answers only a part of the API', () => {
  test('that includes nothing: names of projects and the state of runs are unknown, and rules over runs are not assessed', async () => {
    const faultHook = answerList(({ included: _, ...document }) => document);
    const place = await testProject({ workspaces: 30, explorer: false, faultHook });
    await place.pull(WORDS);
    const unknown = await unknownColumns(place);
    expect(unknown.project_name).toBe('no workspace of the list tells its project_name');
    expect(Object.keys(unknown)).toEqual(
      expect.arrayContaining(['current_run_status', 'current_run_applied_at', 'drifted']),
    );
    expect(unknown).not.toHaveProperty('project_external_id');
  });

  test('that includes what some workspaces have, and not what others have, is read without it', async () => {
    const faultHook = answerList(({ included, ...document }) => ({
      ...document,
      ...(Array.isArray(included) && { included: included.slice(0, included.length / 2) }),
    }));
    const place = await testProject({ workspaces: 30, explorer: false, faultHook });
    await place.pull(WORDS);
    expect(Object.keys(await unknownColumns(place))).toEqual(
      expect.arrayContaining(['project_name', 'current_run_status', 'current_run_applied_at']),
    );
    expect(await place.rows('select distinct project_name, current_run_status from workspaces')).toEqual([
      { project_name: null, current_run_status: null },
    ]);
  });

  test('that refuses an include is read without it', async () => {
    const place = await testProject({
      workspaces: 30,
      explorer: false,
      faultHook: ({ path, query }, service) =>
        path.endsWith('/workspaces') && query.has('include') ? service.error(400, 'Invalid include') : undefined,
    });
    await place.pull(WORDS);
    expect(await unknownColumns(place)).toHaveProperty('current_run_status');
    expect(await place.rows('select count(*)::int as n from workspaces')).toEqual([{ n: 30 }]);
  });

  test('that has no projects, as Terraform Enterprise before v202302, and refuses to include them, still tells the state of runs', async () => {
    const place = await testProject({
      workspaces: 30,
      explorer: false,
      faultHook: ({ path, query }, service) =>
        path.endsWith('/workspaces') && query.get('include')?.includes('project')
          ? service.error(400, 'Invalid include parameter')
          : undefined,
    });
    const { pulls } = (await place.pull(WORDS)).json<RunResult>();
    expect(pulls).toMatchObject([{ status: 'complete' }, { status: 'complete' }]);
    const unknown = await unknownColumns(place);
    expect(unknown).toHaveProperty('project_name');
    expect(unknown).not.toHaveProperty('current_run_status');
    expect(await place.rows('select count(current_run_status)::int > 0 as told from workspaces')).toEqual([
      { told: true },
    ]);
  });

  test.each([
    ['[]', [], false],
    ['no tag-names', undefined, true],
  ])('whose workspaces have %s: the tags are unknown where they are not told', async (_, names, isUnknown) => {
    const faultHook = answerList(({ data, ...document }) => ({
      ...document,
      data: (data as { attributes: object }[]).map((item) => ({
        ...item,
        attributes: { ...item.attributes, 'tag-names': names },
      })),
    }));
    const place = await testProject({ workspaces: 5, flavor: 'hashicorp', explorer: false, faultHook });
    await place.pull(['--source', 'workspaces']);
    expect('tags' in (await unknownColumns(place))).toBe(isUnknown);
    expect(await place.rows('select distinct tags from workspaces')).toEqual([{ tags: null }]);
  });

  test('that has no repositories, no runs and no versions leaves their columns unknown, never empty', async () => {
    const faultHook = answerList(({ data, ...document }) => ({
      ...document,
      data: (data as { id: string; attributes: { name: string } }[]).map(({ id, attributes: { name } }) => ({
        id,
        type: 'workspaces',
        attributes: { name },
      })),
    }));
    const place = await testProject({ workspaces: 5, explorer: false, faultHook });
    await place.pull(WORDS);
    expect(Object.keys(await unknownColumns(place))).toEqual(
      expect.arrayContaining(['vcs_repo_identifier', 'current_run_external_id', 'workspace_iac_version']),
    );
    expect(await unknownColumns(place, 'tf_versions')).toHaveProperty('version');
  });

  test.each([
    ['its own size of a page, and says nothing of pages', 7],
    ['one page for all, and says nothing of pages', 1000],
  ])('that has %s is read whole', async (_, size) => {
    const faultHook: FaultHook = (request, service) =>
      answerList(({ data, included }, { query }, page) => ({
        data: size > 100 || query.get('page[size]') === '100' ? data : data,
        included,
        page,
      }))(capped(request, size), service);
    const place = await testProject({ workspaces: 30, explorer: false, faultHook });
    const { pulls } = (await place.pull(['--source', 'workspaces'])).json<RunResult>();
    expect(pulls[0]).toMatchObject({ status: 'complete', rows: 30, expected_rows: null });
  });

  /** A request as a service understands it that has its own size, or ignores numbers and sizes of pages. */
  function capped(request: Request, size: number): Request {
    const query = new URLSearchParams(request.query);
    query.set('page[size]', String(Math.min(size, 100)));
    if (size > 100) query.delete('page[number]');
    return { ...request, query };
  }
});

describe('pages of the list that are no complete list', () => {
  const pullError = async (faultHook: FaultHook) => {
    const place = await testProject({ workspaces: 250, explorer: false });
    await place.pull(['--source', 'workspaces']);
    const faulty = await testProject({ workspaces: 250, explorer: false, from: place.folder, faultHook });
    const [pull] = (await faulty.pull(['--source', 'workspaces'], 3)).json<RunResult>().pulls;
    expect(await faulty.rows('select count(*)::int as n from workspaces')).toEqual([{ n: 250 }]);
    return pull;
  };

  test('a page that repeats fails the pull', async () => {
    let first: object | undefined;
    const pull = await pullError(
      answerList((document, _, page) => {
        if (page === 1) first = document;
        return page === 3 ? { ...document, data: (first as { data: object }).data } : document;
      }),
    );
    expect(pull).toMatchObject({ status: 'failed', error: expect.stringContaining('the same page again') });
  });

  test('a count that contradicts the rows fails the pull', async () => {
    const pull = await pullError(
      answerList((document) => {
        const { meta } = document as { meta: { pagination: object } };
        return { ...document, meta: { pagination: { ...meta.pagination, 'total-count': 251 } } };
      }),
    );
    expect(pull).toMatchObject({ status: 'failed', error: expect.stringContaining('250 rows received, 251 reported') });
  });

  test('a page in the middle that fails fails the pull', async () => {
    const pull = await pullError((request, service) =>
      request.path.endsWith('/workspaces') && request.query.get('page[number]') === '2'
        ? service.error(403, 'not this page')
        : undefined,
    );
    expect(pull).toMatchObject({ status: 'failed', error: expect.stringContaining('not this page') });
  });

  test('a workspace that is deleted while pages without a total are read hides no other one', async () => {
    let readings = 0;
    const faultHook = answerList((document, { query }, page) => {
      if (page === 1) readings++;
      const data = document.data as object[];
      const next = page < 3 ? `?page[number]=${page + 1}` : null;
      const isShifted = readings === 1 && page === 2 && query.get('page[size]') === '100';
      return { data: isShifted ? data.slice(1) : data, links: { next } };
    });
    const place = await testProject({ workspaces: 250, explorer: false, faultHook });
    await place.pull(['--source', 'workspaces']);
    expect(await place.rows('select count(*)::int as n from workspaces')).toEqual([{ n: 250 }]);
    expect(readings).toBe(3);
  });
});

test('the address of a service that serves the API below another path is kept', () => {
  const common = { name: 'a', kind: 'platform', organization: 'a', token: 'aaaaaaaa' };
  const [terrakube] = createTargets([{ ...common, url: 'https://terrakube.example/remote/tfe/v2/' }]);
  expect(terrakube?.url).toBe('https://terrakube.example/remote/tfe/v2');
});
