import { afterEach, expect, test } from 'vitest';
import { platform } from '../../src/services/platform/operations.ts';
import { createTarget, createTestClient, startServer, type TestServer } from '../helpers/http-service.ts';

let server: TestServer;
afterEach(() => server.close());

const VIEW = '/api/v2/organizations/acme/explorer/views/sq-1';
const MISSING = '{"errors": [{"status": "404", "title": "not found"}]}';

async function readCsv(flavor: 'spec' | 'hashicorp', statuses: Readonly<Record<string, number>>) {
  server = await startServer((request, response) => {
    const status = statuses[request.url?.replace(VIEW, '') ?? ''] ?? 404;
    const body = status === 404 ? MISSING : status === 200 ? 'a\n1\n' : '{"errors": ["the query is wrong"]}';
    response.writeHead(status).end(body);
  });
  const { client } = createTestClient(createTarget('platform', server.origin, { flavor }));
  const answer = await client.call(platform.views.csv, { view_id: 'sq-1' }).catch((error: unknown) => error);
  await client.close();
  return { answer, asked: server.requests.map(({ url }) => url.replace(VIEW, '')) };
}

test.each([
  ['spec', { '/csv': 200 }, ['/csv']],
  ['spec', { '/export/csv': 200 }, ['/csv', '/export/csv']],
  ['hashicorp', { '/csv': 200 }, ['/export/csv', '/csv']],
  ['hashicorp', { '/export/csv': 200 }, ['/export/csv']],
] as const)('%s: the other path is asked after a 404, with %o', async (flavor, statuses, expected) => {
  const { answer, asked } = await readCsv(flavor, statuses);
  expect([answer, asked]).toEqual([expect.objectContaining({ text: 'a\n1\n' }), expected]);
});

test.each([
  ['spec', { '/csv': 403 }, 'forbidden', 1],
  ['spec', { '/export/csv': 422 }, 'invalid', 2],
  ['hashicorp', { '/csv': 422 }, 'invalid', 2],
  ['hashicorp', {}, 'not-found', 2],
] as const)('%s: what the path that exists answers is the error, with %o', async (flavor, statuses, failure, count) => {
  const { answer, asked } = await readCsv(flavor, statuses);
  expect([answer, asked.length]).toEqual([expect.objectContaining({ failure }), count]);
});
