import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import { LIVE_RUN_STATUSES } from '../../sandbox/platform/workspaces.ts';
import type { Flavor } from '../../sandbox/types.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';

let sandbox: RunningSandbox;

beforeEach(async () => {
  sandbox = await startTestSandbox({ flavor: 'hashicorp' });
});
afterEach(() => sandbox.close());

async function restart(flavor: Flavor): Promise<void> {
  await sandbox.close();
  sandbox = await startTestSandbox({ flavor });
}

interface Document {
  readonly id: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly relationships: Readonly<Record<string, unknown>>;
}

interface Answer {
  readonly status: number;
  readonly body: { readonly data: Document & readonly Document[]; readonly errors?: unknown };
}

async function send(line: string, data?: unknown): Promise<Answer> {
  const [method = 'GET', path = '/'] = line.split(' ');
  const response = await fetch(`${sandbox.urls.platform}/api/v2${path}`, {
    method,
    headers: { authorization: `Bearer ${sandbox.tokens.platform.write}` },
    ...(data === undefined ? {} : { body: JSON.stringify({ data }) }),
  });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

const POOLS = '/organizations/acme/agent-pools';
const EXPLORER = '/organizations/acme/explorer';

function poolBody(relationships: unknown, attributes: Readonly<Record<string, unknown>> = {}) {
  return { type: 'agent-pools', attributes: { name: 'fresh', ...attributes }, relationships };
}

test.each([
  ['allowed-projects', 'projects'],
  ['excluded-workspaces', 'workspaces'],
  ['hyok-configurations', 'hyok-configurations'],
  ['stacks', 'stacks'],
  ['allowed-stacks', 'stacks'],
])('a pool keeps its %s, until they are replaced', async (name, type) => {
  const relation = { data: [{ id: 'x-1', type }] };
  const created = await send(`POST ${POOLS}`, poolBody({ [name]: relation }));
  expect(created).toMatchObject({ status: 201, body: { data: { relationships: { [name]: relation } } } });
  const one = `/agent-pools/${created.body.data.id}`;
  await send(`PATCH ${one}`, { type: 'agent-pools', attributes: { name: 'renamed' } });
  expect((await send(`GET ${one}`)).body.data.relationships).toMatchObject({ [name]: relation });
  await send(`PATCH ${one}`, { type: 'agent-pools', attributes: {}, relationships: { [name]: { data: [] } } });
  expect((await send(`GET ${one}`)).body.data.relationships).toMatchObject({ [name]: { data: [] } });
});

test('a relationship or an attribute that is not kept is refused, in both flavors', async () => {
  for (const flavor of ['hashicorp', 'spec'] as const) {
    await restart(flavor);
    expect((await send(`POST ${POOLS}`, poolBody({ invented: { data: [] } }))).status).toBe(422);
    expect((await send(`POST ${POOLS}`, poolBody({}, { invented: true }))).status).toBe(422);
    expect(sandbox.services.platform.state.pools.some(({ name }) => name === 'fresh')).toBe(false);
  }
  expect((await send(`POST ${POOLS}`, poolBody({ stacks: { data: [] } }))).status).toBe(422);
});

test('a member of a saved view that is not kept is refused', async () => {
  const query = { type: 'workspaces', filter: [] };
  const attributes = { name: 'v', 'query-type': 'workspaces', query };
  const view = (more: object) => ({ type: 'explorer-saved-queries', attributes: { ...attributes, ...more } });
  expect((await send(`POST ${EXPLORER}/views`, view({}))).status).toBe(201);
  expect((await send(`POST ${EXPLORER}/views`, view({ shared: true }))).status).toBe(422);
  expect((await send(`POST ${EXPLORER}/views`, view({ query: { ...query, limit: 5 } }))).status).toBe(422);
});

test('pools are filtered by a project that they allow', async () => {
  const { projects, workspaces, pools } = sandbox.services.platform.state;
  const project = projects.find(({ id }) => workspaces.some((workspace) => workspace.project.id === id))!;
  const data = [{ id: project.id, type: 'projects' }];
  await send(`POST ${POOLS}`, poolBody({ 'allowed-projects': { data } }, { 'organization-scoped': false }));
  const names = async (filter: string) =>
    (await send(`GET ${POOLS}?page[size]=100&${filter}`)).body.data.map(({ attributes }) => attributes.name);
  const found = await names(`filter[allowed_projects][name]=${encodeURIComponent(project.name)}`);
  expect(found).toContain('fresh');
  expect(found.length).toBeLessThan(pools.length);
  expect(await names('filter[allowed_projects][name]=none')).toEqual([]);
});

test.each([
  `${POOLS}?filter[allowed_stacks][name]=x`,
  `${POOLS}?filter[name]=x`,
  `${POOLS}?sort=agent-count`,
  `${POOLS}?search[name]=x`,
  `${EXPLORER}/views?sort=name`,
  `${EXPLORER}?type=workspaces&q=x`,
])('%s is refused instead of ignored', async (path) => {
  expect((await send(`GET ${path}`)).status).toBe(400);
});

test('agents are sorted by their creation', async () => {
  const [pool] = sandbox.services.platform.state.pools;
  const created = async (sort: string) =>
    (await send(`GET /agent-pools/${pool!.id}/agents?sort=${sort}`)).body.data.map(({ attributes }) =>
      String(attributes['created-at']),
    );
  const ascending = await created('created-at');
  expect(ascending).toEqual([...ascending].sort());
  expect(await created('-created-at')).toEqual([...ascending].reverse());
});

test('two values of one filter find what either of them finds, in a query as in a saved view', async () => {
  const { workspaces } = sandbox.services.platform.state;
  const [a, b] = [workspaces[0]!, workspaces[1]!];
  const filter = 'filter[0][external_id][is]';
  const found = await send(`GET ${EXPLORER}?type=workspaces&${filter}[0]=${a.id}&${filter}[1]=${b.id}`);
  expect(found.body.data.map((row) => row.attributes['external-id']).sort()).toEqual([a.id, b.id].sort());
  expect((await send(`GET ${EXPLORER}?type=workspaces&${filter}[0]=${a.id}&${filter}[2]=${b.id}`)).status).toBe(400);
  await restart('spec');
  expect((await send(`GET ${EXPLORER}?type=workspaces&${filter}[0]=${a.id}&${filter}[1]=${b.id}`)).status).toBe(400);
});

test('runs have all the statuses of the real product', () => {
  const { workspaces } = sandbox.services.platform.state;
  const seen = new Set(workspaces.map(({ runStatus }) => runStatus));
  expect(LIVE_RUN_STATUSES).toHaveLength(32);
  expect(LIVE_RUN_STATUSES.filter((status) => !seen.has(status))).toEqual([]);
});

test('a token of a pool is shown once, listed without its secret, and deleted', async () => {
  const [pool] = sandbox.services.platform.state.pools;
  const tokens = `/agent-pools/${pool!.id}/authentication-tokens`;
  const body = { type: 'authentication-tokens', attributes: { description: 'of tests' } };
  const created = await send(`POST ${tokens}`, body);
  expect(created).toMatchObject({ status: 201, body: { data: { attributes: { description: 'of tests' } } } });
  expect(created.body.data.attributes.token).toMatch(/\.atlasv1\./);
  expect((await send(`GET ${tokens}`)).body.data).toMatchObject([{ attributes: { token: null } }]);
  const { id } = created.body.data;
  const headers = { authorization: `Bearer ${sandbox.tokens.platform.write}` };
  const url = `${sandbox.urls.platform}/api/v2/authentication-tokens/${id}`;
  expect((await fetch(url, { method: 'DELETE', headers })).status).toBe(204);
  expect((await send(`GET ${tokens}`)).body.data).toEqual([]);
});
