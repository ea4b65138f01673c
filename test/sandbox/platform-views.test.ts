import { parse } from 'csv-parse/sync';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { allRows, call, json, ORGANIZATION, type Paged, refusal } from './platform-client.ts';

interface ViewDocument {
  readonly id: string;
  readonly type: string;
  readonly attributes: {
    readonly name: string;
    readonly query: Record<string, unknown>;
    readonly 'query-type': string;
  };
}

const VIEWS = `${ORGANIZATION}/explorer/views`;

let sandbox: RunningSandbox;

beforeEach(async () => {
  sandbox = await startTestSandbox();
});
afterEach(() => sandbox.close());

const viewNamed = (name: string) => sandbox.services.platform.state.views.find((view) => view.name === name)!;
const send = (method: string, path: string, data: unknown) => call(sandbox, path, { method, body: { data } });
const QUERY = {
  filter: [{ field: 'drifted', operator: 'is', value: ['true'] }],
  fields: ['workspace_name', 'resources_drifted'],
  sort: ['-resources_drifted', 'workspace_name'],
};

describe('saved views', () => {
  test('are listed with their query', async () => {
    const { data } = await json<{ data: ViewDocument[] }>(call(sandbox, VIEWS));
    expect(data).toHaveLength(8);
    expect(data[0]).toMatchObject({
      type: 'explorer-saved-queries',
      attributes: {
        name: 'Drifted workspaces',
        'query-type': 'workspaces',
        query: { type: 'workspaces', filter: [{ field: 'drifted', operator: 'is', value: ['true'] }] },
      },
    });
    expect(data[0]?.id).toMatch(/^sq-/);
  });

  test('run again as pages and as CSV, which lacks current_rum_count', async () => {
    const view = viewNamed('Drifted workspaces');
    const { data, meta } = await json<Paged>(call(sandbox, `${VIEWS}/${view.id}/results?page[size]=100`));
    const wanted = await allRows(sandbox, 'type=workspaces&filter[0][drifted][is][0]=true&sort=-resources_drifted');
    expect(data).toEqual(wanted);
    expect(meta.pagination['page-size']).toBe(100);
    const rows = parse<Record<string, string>>(await (await call(sandbox, `${VIEWS}/${view.id}/csv`)).text(), {
      columns: true,
    });
    expect(rows.map((row) => row.external_id)).toEqual(wanted.map(({ id }) => id));
    expect(rows[0]).not.toHaveProperty('current_rum_count');
  });

  test('one returns no rows, and one asks for a field that no longer exists', async () => {
    const empty = await json<Paged>(call(sandbox, `${VIEWS}/${viewNamed('Decommissioned').id}/results`));
    expect(empty.data).toEqual([]);
    const broken = viewNamed('By owner team (old)').id;
    expect((await refusal(call(sandbox, `${VIEWS}/${broken}/results`))).status).toBe(422);
    expect((await refusal(call(sandbox, `${VIEWS}/${broken}/csv`))).status).toBe(422);
  });

  test('are created, changed as a whole, and deleted', async () => {
    const created = await send('POST', VIEWS, { name: 'Mine', query_type: 'workspaces', query: QUERY });
    expect(created.status).toBe(201);
    const { data } = (await created.json()) as { data: ViewDocument };
    expect(data.attributes.query).toEqual({ type: 'workspaces', ...QUERY });
    const rows = (await json<Paged>(call(sandbox, `${VIEWS}/${data.id}/results`))).data;
    expect(Object.keys(rows[0]?.attributes ?? {})).toEqual(['workspace-name', 'resources-drifted']);

    const query = { filter: [], fields: ['workspace_name'], sort: ['workspace_name'] };
    const updated = await send('PATCH', `${VIEWS}/${data.id}`, { name: 'Ours', query });
    expect(updated.status).toBe(200);
    const shown = await json<{ data: ViewDocument }>(call(sandbox, `${VIEWS}/${data.id}`));
    expect(shown.data.attributes).toMatchObject({ name: 'Ours', query: { type: 'workspaces', ...query } });

    const deleted = await call(sandbox, `${VIEWS}/${data.id}`, { method: 'DELETE' });
    expect(deleted.status).toBe(200);
    expect(await deleted.json()).toEqual(shown);
    expect((await call(sandbox, `${VIEWS}/${data.id}`)).status).toBe(404);
  });

  test.each([
    ['no name', { query_type: 'workspaces', query: QUERY }],
    ['an unknown type', { name: 'x', query_type: 'resources', query: QUERY }],
    ['no query', { name: 'x', query_type: 'workspaces' }],
    ['a field of another view', { name: 'x', query_type: 'modules', query: QUERY }],
    [
      'a value that is no list',
      { name: 'x', query_type: 'workspaces', query: { filter: [{ field: 'drifted', operator: 'is', value: 'true' }] } },
    ],
    [
      'the JSON:API form',
      { type: 'explorer-saved-queries', attributes: { name: 'x', query_type: 'workspaces', query: QUERY } },
    ],
  ])('creating one with %s answers 422', async (_, data) => {
    expect((await send('POST', VIEWS, data)).status).toBe(422);
  });

  test.each(['filter', 'fields', 'sort'] as const)('an update without %s gets 422', async (part) => {
    const { [part]: _, ...query } = QUERY;
    const id = viewNamed('Drifted workspaces').id;
    expect((await send('PATCH', `${VIEWS}/${id}`, { name: 'x', query })).status).toBe(422);
  });
});

test('flavor hashicorp uses the forms of the real product', async () => {
  const live = await startTestSandbox({ flavor: 'hashicorp' });
  try {
    const filter = [{ 'workspace-name': { contains: ['prod'] } }];
    const query = { type: 'workspaces', filter, fields: { workspaces: ['workspace_name'] } };
    const body = {
      data: { type: 'explorer-saved-queries', attributes: { name: 'x', 'query-type': 'workspaces', query } },
    };
    const answer = await call(live, VIEWS, { method: 'POST', body });
    expect(answer.status).toBe(201);
    const { data } = (await answer.json()) as { data: ViewDocument };
    expect(data.attributes.query).toEqual(query);
    expect(await json(call(live, VIEWS))).not.toHaveProperty('links');
    expect((await call(live, `${VIEWS}/${data.id}/csv`)).status).toBe(404);
    const csv = await (await call(live, `${VIEWS}/${data.id}/export/csv`)).text();
    expect(csv.split('\n')[0]).toBe('workspace_name');
    const whole = live.services.platform.state.views[0]!.id;
    expect(await (await call(live, `${VIEWS}/${whole}/export/csv`)).text()).toMatch(/,null,/);
    expect((await call(live, `${VIEWS}/${data.id}`, { method: 'DELETE' })).status).toBe(204);
  } finally {
    await live.close();
  }
});
