import { afterEach, expect, expectTypeOf, it } from 'vitest';
import { createApiClient } from '../../src/services/api-client.ts';
import { platform } from '../../src/services/index.ts';
import { createTarget, createTestClient, startServer, type TestServer } from '../helpers/http-service.ts';

let server: TestServer;
afterEach(() => server.close());

it('arguments are typed from the declarations', async () => {
  server = await startServer((_request, response) => response.end('{"data":[]}'));
  const { client } = createTestClient(createTarget('platform', server.origin));
  await client.call(platform.agents.list, { agent_pool_id: 'apool-1', 'page[size]': 5 });
  await client.call(platform.explorer.query, { type: 'modules', filter: ['name:is:x'], fields: ['name'] });
  await client.call(platform['agent-pools'].list);
  const wrong: readonly (() => Promise<unknown>)[] = [
    // @ts-expect-error a required parameter is missing
    () => client.call(platform.agents.list, {}),
    // @ts-expect-error a number is wanted
    () => client.call(platform.agents.list, { agent_pool_id: 'a', 'page[size]': 'five' }),
    // @ts-expect-error no such parameter
    () => client.call(platform.agents.show, { id: 'a', nonsense: 'x' }),
  ];
  for (const call of wrong) await expect(call()).rejects.toMatchObject({ code: 'USAGE', exit: 2 });
  expect(server.requests.map(({ url }) => decodeURIComponent(url))).toEqual([
    '/api/v2/agent-pools/apool-1/agents?page[size]=5',
    '/api/v2/organizations/acme/explorer?type=modules&filter[0][name][is][0]=x&fields=name',
    '/api/v2/organizations/acme/agent-pools',
  ]);
});

it('names and results of the methods of a target are typed, lists yield items, and envelopes are removed', async () => {
  const pool = {
    id: 'apool-1',
    type: 'agent-pools',
    attributes: { name: 'edge', 'created-at': '2026-01-01T00:00:00Z' },
  };
  const agent = (id: string) => ({ id, type: 'agents', attributes: { name: id, status: 'idle' } });
  server = await startServer((request, response) => {
    const page = /page\[number\]=(\d)/u.exec(decodeURIComponent(request.url ?? ''))?.[1] ?? '1';
    const pagination = {
      'current-page': Number(page),
      'next-page': page === '1' ? 2 : null,
      'total-pages': 2,
      'total-count': 2,
    };
    if (request.method === 'DELETE') response.writeHead(204).end();
    else if (request.url?.includes('/agents')) {
      response.end(JSON.stringify({ data: [agent(`agent-${page}`)], meta: { pagination } }));
    } else response.end(JSON.stringify({ data: pool }));
  });
  const { client } = createTestClient(createTarget('platform', server.origin));
  const api = createApiClient(client);
  const ids: string[] = [];
  for await (const { id, attributes } of api.agents.list({
    agentPoolId: 'apool-1',
    filterLastPingSince: '2026-01-01T00:00:00Z',
  })) {
    expectTypeOf(attributes.status).toBeString();
    ids.push(id);
  }
  expect(ids).toEqual(['agent-1', 'agent-2']);
  const shown = await api.agentPools.show({ id: 'apool-1' });
  expectTypeOf(shown.attributes.name).toBeString();
  expect(shown).toEqual(pool);
  await api.agentPools.update({ id: 'apool-1', body: { data: { type: 'agent-pools', attributes: { name: 'core' } } } });
  expect(await api.agents.delete({ id: 'agent-1' })).toBeUndefined();
  expect(server.requests.map(({ method, url }) => `${method} ${decodeURIComponent(url)}`)).toEqual([
    expect.stringMatching(/^GET .*agents\?filter\[last-ping-since\]=2026-01-01T00:00:00Z/u),
    expect.stringMatching(/^GET .*page\[number\]=2/u),
    'GET /api/v2/agent-pools/apool-1',
    'PATCH /api/v2/agent-pools/apool-1',
    'DELETE /api/v2/agents/agent-1',
  ]);
  // @ts-expect-error a required parameter is missing
  const wrong = api.agents.list();
  await expect(wrong.next()).rejects.toMatchObject({ code: 'USAGE' });
  expect(() => api.keys.list()).toThrow(/is a platform target: it has no keys/u);
});

it('a write uses the writeToken; its response need not be JSON', async () => {
  server = await startServer(({ method }, response) =>
    response.end(method === 'GET' ? '{"data":{"versions":{}}}' : 'done'),
  );
  const tokens = { token: 'read-token', writeToken: 'write-token' };
  const { client } = createTestClient(createTarget('secrets', server.origin, tokens));
  expect(await createApiClient(client).keys.update({ name: 'k', body: { min_enabled_version: 2 } })).toBe('done');
  expect(server.requests.map(({ headers }) => headers['x-store-token'])).toEqual(['read-token', 'write-token']);
});

it('an update that would create its subject is refused, unless the caller asks for it', async () => {
  server = await startServer(({ method }, response) => {
    response.writeHead(method === 'GET' ? 404 : 204).end(method === 'GET' ? '{"errors":[]}' : '');
  });
  const { keys } = createApiClient(createTestClient(createTarget('secrets', server.origin)).client);
  const args = { name: 'nowhere', body: { min_enabled_version: 2 } };
  await expect(keys.update(args)).rejects.toMatchObject({
    code: 'UNSAFE',
    message: 'secrets.keys.update: nowhere does not exist, and the update would create it',
  });
  expect(server.requests.map(({ method }) => method)).toEqual(['GET']);
  await keys.update({ ...args, create: true });
  expect(server.requests.map(({ method }) => method)).toEqual(['GET', 'POST']);
});

it('an update is not sent when it cannot be found out whether its subject exists', async () => {
  server = await startServer((_, response) => response.writeHead(403).end('{"errors":["permission denied"]}'));
  const { keys } = createApiClient(createTestClient(createTarget('secrets', server.origin)).client);
  const refused = keys.update({ name: 'k', body: { min_enabled_version: 2 } });
  await expect(refused).rejects.toMatchObject({ failure: 'forbidden' });
  expect(server.requests.map(({ method }) => method)).toEqual(['GET']);
});
