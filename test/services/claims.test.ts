import { afterEach, expect, it } from 'vitest';
import { createApiClient } from '../../src/services/api-client.ts';
import { platform } from '../../src/services/index.ts';
import { createTarget, createTestClient, startServer, type TestServer } from '../helpers/http-service.ts';

let server: TestServer | undefined;
afterEach(() => server?.close());

it('deleting a saved view returns the deleted view; the product may return nothing', async () => {
  const view = { id: 'sq-1', type: 'explorer-saved-queries', attributes: { name: 'drifted' } };
  const answers = [JSON.stringify({ data: view }), ''];
  server = await startServer((_, response) => {
    const text = answers.shift() ?? '';
    response.writeHead(text === '' ? 204 : 200).end(text);
  });
  const { views } = createApiClient(createTestClient(createTarget('platform', server.origin)).client);
  expect(await views.delete({ viewId: 'sq-1' })).toEqual(view);
  expect(await views.delete({ viewId: 'sq-1' })).toBeUndefined();
});

it.each([platform.explorer.query, platform.views.results])('$name claims no page size', ({ params }) => {
  expect(params['page[size]'].description).not.toMatch(/\d/u);
});

it.each([platform['agent-pools'].list, platform.agents.list])(
  '$name has 20 rows by default, and no maximum',
  ({ params }) => {
    expect(params['page[size]'].description).toBe('rows per page, 20 by default');
  },
);

it('a saved view needs the right to read what its query covers, and the explorer the right to read everything', () => {
  const { show, create, update, delete: remove, results, csv } = platform.views;
  for (const { name, permission } of [show, create, update, remove, results, csv]) {
    expect(permission.text, name).toBe('read the workspaces and projects that the query of the view covers');
  }
  for (const { name, permission } of [platform.views.list, platform.explorer.query, platform.explorer.export]) {
    expect(permission.text, name).toContain('a team that reads all workspaces or projects');
  }
});
