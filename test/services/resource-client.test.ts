import { text } from 'node:stream/consumers';
import { afterEach, expect, expectTypeOf, test } from 'vitest';
import { createResourceClient, type JsonApiResource } from '../../src/services/resource-client.ts';
import { createTarget, createTestClient, startServer, type TestServer } from '../helpers/http-service.ts';

let server: TestServer;
afterEach(() => server.close());

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const agent = (id: string) => ({ id, type: 'agents', attributes: { status: 'idle' } });

test('a list yields the items of all pages', async () => {
  server = await startServer((request, response) => {
    const page = Number(new URL(request.url ?? '', 'http://x').searchParams.get('page[number]') ?? 1);
    const pagination = { 'current-page': page, 'next-page': page < 2 ? page + 1 : null };
    response.end(JSON.stringify({ data: [agent(`agent-${page}`)], meta: { pagination } }));
  });
  const { client: service } = createTestClient(createTarget('platform', server.origin));
  const client = createResourceClient(service);
  const items = await collect(client.agents.list({ agentPoolId: 'apool-1', pageSize: 1 }));
  await service.close();
  expectTypeOf(items).toEqualTypeOf<JsonApiResource[]>();
  expect(items.map(({ id }) => id)).toEqual(['agent-1', 'agent-2']);
  expect(server.requests.map(({ url }) => decodeURIComponent(url))).toEqual([
    '/api/v2/agent-pools/apool-1/agents?page[size]=1',
    '/api/v2/agent-pools/apool-1/agents?page[size]=1&page[number]=2',
  ]);
});

test('names of a LIST are items too', async () => {
  server = await startServer((_, response) => response.end('{"data":{"keys":["a","b"]}}'));
  const { client: service } = createTestClient(createTarget('secrets', server.origin));
  const names = await collect(createResourceClient(service).keys.list());
  await service.close();
  expectTypeOf(names).toEqualTypeOf<string[]>();
  expect(names).toEqual(['a', 'b']);
});

test('another operation returns the content of its response', async () => {
  server = await startServer((_, response) => response.end(JSON.stringify({ data: agent('agent-1') })));
  const { client: service } = createTestClient(createTarget('platform', server.origin));
  const shown = await createResourceClient<'platform'>(service).agents.show({ id: 'agent-1' });
  await service.close();
  expect(shown.attributes.status).toBe('idle');
});

test('a write sends its body with the writeToken', async () => {
  server = await startServer((_, response) => response.writeHead(204).end());
  const { client: service } = createTestClient(
    createTarget('secrets', server.origin, { token: 'read-token', writeToken: 'write-token' }),
  );
  const client = createResourceClient(service);
  await expect(client.keys.update({ name: 'k', body: { min_enabled_version: 2 } })).resolves.toBeUndefined();
  await service.close();
  expect(bodies).toEqual(['{"min_enabled_version":2}']);
  expect(server.requests[0]?.headers['x-store-token']).toBe('write-token');
});

test('arguments are typed', async () => {
  server = await startServer((_, response) => response.end('{"data":[]}'));
  const { client: service } = createTestClient(createTarget('platform', server.origin));
  const { agents, agentPools } = createResourceClient(service);
  // @ts-expect-error a required parameter is missing
  await expect(collect(agents.list())).rejects.toMatchObject({ code: 'USAGE' });
  // @ts-expect-error a number is required
  await expect(collect(agents.list({ agentPoolId: 'a', pageSize: 'five' }))).rejects.toMatchObject({ code: 'USAGE' });
  // @ts-expect-error there is no such parameter
  await expect(agents.show({ id: 'a', nonsense: 'x' })).rejects.toMatchObject({ code: 'USAGE' });
  // @ts-expect-error the body is missing
  await expect(agentPools.create()).rejects.toMatchObject({ code: 'USAGE' });
  await service.close();
  expect(server.requests).toEqual([]);
});

test('an operation of another kind is a usage error', async () => {
  server = await startServer(() => {});
  const { client: service } = createTestClient(createTarget('platform', server.origin));
  expect(() => createResourceClient(service).keys.list()).toThrow(
    'secrets.keys.list needs a target of kind secrets; platform is platform',
  );
  await service.close();
});
