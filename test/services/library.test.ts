import { afterEach, expect, it } from 'vitest';
import * as tidemark from '../../src/index.ts';
import { createTarget, createTestClient, startServer, type TestServer } from '../helpers/http-service.ts';

let server: TestServer;
afterEach(() => server.close());

it('arguments are typed from the declarations', async () => {
  server = await startServer((_request, response) => response.end('{"data":[]}'));
  const { client } = createTestClient(createTarget('platform', server.origin));
  const { platform } = tidemark;
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

it('the package gives out what a script needs', async () => {
  server = await startServer(() => {});
  for (const name of [
    'createServiceClient',
    'operations',
    'platform',
    'secrets',
    'scheduler',
    'autoscaler',
    'mesh',
    'loadConfig',
    'ServiceError',
    'TidemarkError',
    'createTargetLimiter',
    'createRequestMetrics',
    'createRedactor',
    'createLog',
  ]) {
    expect(tidemark).toHaveProperty(name);
  }
});
