import { expect, test } from 'vitest';
import { operations } from '../../src/services/index.ts';
import { createTarget, createTestClient, startServer } from '../helpers/http-service.ts';

const document = (id: unknown) => ({ data: { id, attributes: {} } });
const volume = { ReadAllocs: {}, WriteAllocs: {} };

const cases: readonly (readonly [
  operation: string,
  args: Readonly<Record<string, string>>,
  answer: (name: unknown) => object,
])[] = [
  ['platform.agents.show', { id: 'a' }, document],
  ['platform.agent-pools.show', { id: 'a' }, document],
  ['platform.views.show', { view_id: 'a' }, document],
  ['secrets.keys.read', { name: 'a' }, (name) => ({ data: { name, keys: {} } })],
  ['secrets.kms.read', { name: 'a' }, (name) => ({ data: { name, provider: 'p' } })],
  ['secrets.mesh-roles.read', { name: 'a' }, (name) => ({ data: { name, ttl: 1 } })],
  ['scheduler.policies.read', { policy_name: 'a' }, (Name) => ({ Name })],
  ['scheduler.volumes.read', { volume_id: 'a' }, (ID) => ({ ID, Namespace: 'n', ...volume })],
  ['scheduler.volumes.read', { volume_id: 'v', namespace: 'a' }, (Namespace) => ({ ID: 'v', Namespace, ...volume })],
  ['mesh.ca-leaf.read', { service: 'a' }, (Service) => ({ Service })],
];

/** A cache or a proxy that mixes up answers gives that of one request to another. */
test.each(cases)('%s %o: an answer that describes another item is none', async (name, args, answer) => {
  const operation = operations.get(name)!;
  let told: unknown;
  const server = await startServer((_request, response) => response.end(JSON.stringify(answer(told))));
  const { client } = createTestClient(createTarget(operation.kind, server.origin));
  try {
    for (told of ['b', ['a'], 1])
      await expect(client.call(operation, args)).rejects.toMatchObject({
        failure: 'malformed',
        serviceMessage: expect.stringMatching(/^the response for [av] describes another item$/u),
      });
    told = 'a';
    expect((await client.call(operation, args)).status).toBe(200);
  } finally {
    await client.close();
    await server.close();
  }
});

/** What checks an answer takes the last of two fields with one name, and what loads it the first one. */
test('an answer with a name twice in one object is none, unless both values are the same', async () => {
  let told = '';
  const server = await startServer((_request, response) => response.end(told));
  const { client } = createTestClient(createTarget('platform', server.origin));
  const show = () => client.call(operations.get('platform.agents.show')!, { id: 'a' });
  try {
    told = '{"data": {"id": "a", "attributes": {"status": "idle", "status": "exited"}}}';
    await expect(show()).rejects.toMatchObject({
      failure: 'malformed',
      serviceMessage: expect.stringContaining('got an object that has a name twice, with two values (character 5'),
    });
    told = told.replace('exited', 'idle');
    expect((await show()).status).toBe(200);
  } finally {
    await client.close();
    await server.close();
  }
});
