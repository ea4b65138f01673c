import { expect, test } from 'vitest';
import type { FaultHook } from '../../sandbox/router.ts';
import type { RunResult } from '../../src/run/run.ts';
import { expectTable } from '../helpers/expect-table.ts';
import { testProject } from '../helpers/test-project.ts';

const SOURCE = ['--source', 'modules'];
const REGISTRIES = 'select distinct registry_type from modules order by all';

/** What the platform answers to a question for public modules. */
type Answer = ReturnType<FaultHook>;

async function project(answer: (service: Parameters<FaultHook>[1]) => Answer, asked: string[] = []) {
  return testProject({
    workspaces: 20,
    faultHook: ({ query }, service) => {
      const value = query.get('filter[0][registry_type][is][0]');
      if (value === null) return undefined;
      asked.push(value);
      return answer(service);
    },
  });
}

test.each(['csv', 'json'])('one request more tells which modules are public (explorer: %s)', async (explorer) => {
  const asked: string[] = [];
  const place = await project(() => undefined, asked);
  await place.configure(({ targets }) => Object.assign(targets[0] ?? {}, { explorer }));
  await place.pull(SOURCE);
  expect(asked).toEqual(['public']);
  await expectTable(place, 'modules', 'spec');
  expect(await place.rows(REGISTRIES)).toEqual([{ registry_type: 'private' }, { registry_type: 'public' }]);
});

test('without an answer the registry is unknown, never private, and the pull says so', async () => {
  let isRefused = false;
  const place = await project((service) => (isRefused ? service.error(422, 'unknown field') : undefined));
  await place.pull(SOURCE);
  isRefused = true;
  const [pull] = (await place.pull(SOURCE)).json<RunResult>().pulls;
  expect(pull).toMatchObject({
    status: 'complete',
    note: 'which modules are public is unknown: invalid attribute: unknown field',
  });
  expect(await place.rows(REGISTRIES)).toEqual([{ registry_type: null }]);
  expect(await place.rows('from changes'), 'what is not known is no change').toEqual([]);
});

test.each([
  ['name', undefined, 'row 1 has no name'],
  ['source', undefined, 'row 1 has no source'],
  ['version', undefined, 'row 1 has no version'],
  ['version', true, 'the version of row 1 is no text'],
])('where a row of the list has the %s %j, the registry is unknown: %s', async (field, value, problem) => {
  const attributes = { name: 'vpc', source: 'acme/vpc/aws', version: '1.0.0', [field]: value };
  const body = JSON.stringify({ data: [{ id: 'mod-1', attributes }], meta: { pagination: { 'total-count': 1 } } });
  const place = await project(() => ({ status: 200, body }));
  const [pull] = (await place.pull(SOURCE)).json<RunResult>().pulls;
  expect(pull?.note).toBe(`which modules are public is unknown: the list of public modules: ${problem}`);
  expect(await place.rows(REGISTRIES)).toEqual([{ registry_type: null }]);
});

test('an empty list makes every module private', async () => {
  const pagination = { 'current-page': 1, 'next-page': null, 'total-pages': 1, 'total-count': 0 };
  const body = JSON.stringify({ data: [], meta: { pagination } });
  const place = await project(() => ({ status: 200, body }));
  await place.pull(SOURCE);
  expect(await place.rows(REGISTRIES)).toEqual([{ registry_type: 'private' }]);
  const { json } = await place.tidemark(['sql', '--json', '--saved', 'module-registries', 'since=2020-01-01']);
  expect(json()).toMatchObject([{ public_modules: 0, not_known: 0, private_percent: 100 }]);
});

test('fewer public modules than the service reports are no list', async () => {
  const pagination = { 'current-page': 1, 'next-page': null, 'total-pages': 1, 'total-count': 3 };
  const body = JSON.stringify({ data: [], meta: { pagination } });
  const place = await project(() => ({ status: 200, body }));
  const [pull] = (await place.pull(SOURCE)).json<RunResult>().pulls;
  expect(pull).toMatchObject({ status: 'complete', note: expect.stringContaining('0 rows received, 3 reported') });
  expect(await place.rows(REGISTRIES)).toEqual([{ registry_type: null }]);
});

test('a public module without a version is public in a CSV with bare nulls too', async () => {
  const attributes = { name: 'vpc', source: 'acme/vpc/aws', version: '', workspace_count: null, workspaces: 'a' };
  const pagination = { 'current-page': 1, 'next-page': null, 'total-pages': 1, 'total-count': 1 };
  const page = JSON.stringify({ data: [{ id: 'mod-1', attributes }], meta: { pagination } });
  const csv = 'name,source,version,workspace_count,workspaces\n"vpc","acme/vpc/aws","",null,"a"\n';
  const place = await testProject({
    workspaces: 2,
    faultHook: ({ path, query }) => {
      if (query.get('type') !== 'modules') return undefined;
      if (path.endsWith('/explorer')) return { status: 200, body: page };
      return { status: 200, headers: { 'content-type': 'text/csv' }, body: csv };
    },
  });
  await place.pull(SOURCE);
  expect(await place.rows('select version, workspace_count, registry_type from modules')).toEqual([
    { version: null, workspace_count: null, registry_type: 'public' },
  ]);
});
