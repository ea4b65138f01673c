import { expect, test } from 'vitest';
import { secrets } from '../../src/services/index.ts';
import { createTarget, createTestClient, startServer } from '../helpers/http-service.ts';

const NAMES = Array.from({ length: 20 }, (_, index) => `key-${index}`);

test.each([
  ['a sealed server', 503, 'Vault is sealed'],
  ['a standby without an active node', 500, 'local node not active but active cluster node not found'],
])('%s is said once for the whole target', async (_, status, message) => {
  const server = await startServer((_request, response) =>
    response.writeHead(status).end(JSON.stringify({ errors: [message] })),
  );
  const { client, lines } = createTestClient(createTarget('secrets', server.origin));
  const ends = await Promise.allSettled(NAMES.map((name) => client.call(secrets.keys.read, { name })));
  for (const end of ends) expect(end).toMatchObject({ reason: { failure: 'sealed', serviceMessage: message } });
  expect(lines.filter((line) => line.includes(' waits '))).toHaveLength(1);
  await client.close();
  await server.close();
});

test('once it is unsealed, all requests go on', async () => {
  const server = await startServer((_request, response, count) =>
    count <= 8 ? response.writeHead(503).end('{"errors":["Vault is sealed"]}') : response.end('{"data":{"keys":{}}}'),
  );
  const { client } = createTestClient(createTarget('secrets', server.origin));
  const ends = await Promise.allSettled(NAMES.map((name) => client.call(secrets.keys.read, { name })));
  expect(ends.filter(({ status }) => status === 'rejected')).toEqual([]);
  await client.close();
  await server.close();
});
