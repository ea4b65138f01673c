import { afterEach, describe, expect, it } from 'vitest';
import type { TargetKind } from '../../src/config/config.ts';
import { platform, scheduler, secrets } from '../../src/services/index.ts';
import type { Operation } from '../../src/services/operation.ts';
import { createTarget, createTestClient, startServer, type TestServer } from '../helpers/http-service.ts';

let server: TestServer;
afterEach(() => server.close());

type Answer = string | { readonly body: string; readonly headers: Record<string, string> };

/** Reads every page of a list from a server whose responses depend on the query. */
async function read(kind: TargetKind, operation: Operation, args: object, answer: (query: URLSearchParams) => Answer) {
  server = await startServer((request, response) => {
    const answered = answer(new URL(request.url ?? '', 'http://x').searchParams);
    const { body, headers } = typeof answered === 'string' ? { body: answered, headers: {} } : answered;
    response.writeHead(200, headers).end(body);
  });
  const { client, metrics, lines } = createTestClient(createTarget(kind, server.origin));
  const pages: unknown[] = [];
  const totals: unknown[] = [];
  const error = await (async () => {
    for await (const { items, total } of client.pages<Operation>(operation, { ...args }, { metrics })) {
      pages.push(items);
      totals.push(total);
    }
  })().catch((thrown: unknown) => thrown);
  await client.close();
  const queries = server.requests.map(({ url }) => decodeURIComponent(url.split('?')[1] ?? ''));
  return { pages, totals, error, queries, metrics, lines };
}

const jsonApi = (ids: readonly string[], pagination?: object, links?: object) =>
  JSON.stringify({
    data: ids.map((id) => ({ id })),
    ...(pagination && { meta: { pagination } }),
    ...(links && { links }),
  });

describe('pages by number', () => {
  it('are followed to the last one, with all other parameters', async () => {
    const { pages, totals, queries, error, metrics } = await read(
      'platform',
      platform['agent-pools'].list,
      { q: 'a', 'page[size]': 2 },
      (query) => {
        const page = Number(query.get('page[number]') ?? 1);
        return jsonApi([`a${page}`, `b${page}`], {
          'current-page': page,
          'next-page': page < 3 ? page + 1 : null,
          'total-count': 6,
        });
      },
    );
    expect(error).toBeUndefined();
    expect(pages).toEqual([1, 2, 3].map((page) => [{ id: `a${page}` }, { id: `b${page}` }]));
    expect(totals).toEqual([6, 6, 6]);
    expect(queries).toEqual(['q=a&page[size]=2', 'q=a&page[size]=2&page[number]=2', 'q=a&page[size]=2&page[number]=3']);
    expect(metrics.requests).toBe(3);
  });

  it('begin with `page[number]`', async () => {
    const { queries } = await read(
      'platform',
      platform.explorer.query,
      { type: 'modules', 'page[number]': 4 },
      (query) =>
        jsonApi([query.get('page[number]') ?? ''], {
          'current-page': 4,
          'next-page': query.get('page[number]') === '4' ? 5 : null,
        }),
    );
    expect(queries).toEqual(['type=modules&page[number]=4', 'type=modules&page[number]=5']);
  });

  it.each([[undefined], [{}], [{ next: null }]])(
    'without meta.pagination and links.next, the list has one page: %j',
    async (links) => {
      const { pages, error } = await read('platform', platform.views.list, {}, () => jsonApi(['a'], undefined, links));
      expect([pages, error]).toEqual([[[{ id: 'a' }]], undefined]);
    },
  );

  it.each([
    ['without next-page', {}],
    ['without meta.pagination', undefined],
  ])('%s follow links.next within the origin, for its number only', async (_, pagination) => {
    const { queries, error } = await read('platform', platform.views.list, {}, (query) =>
      query.has('page[number]')
        ? jsonApi(['b'], pagination)
        : jsonApi(['a'], pagination, { next: '/api/v2/other?page%5Bnumber%5D=2&evil=1' }),
    );
    expect([queries, error]).toEqual([['', 'page[number]=2'], undefined]);
  });

  it('that are prefetched are aborted when one fails', async () => {
    const { error, metrics, lines } = await read('platform', platform.views.list, {}, (query) => {
      const page = Number(query.get('page[number]') ?? 1);
      if (page === 2) return jsonApi(['a1'], { 'next-page': 3, 'total-pages': 9 });
      if (page > 2) return { body: '<html>', headers: {} };
      return jsonApi(['a1'], { 'next-page': 2, 'total-pages': 9 });
    });
    const { retries } = metrics;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(error).toMatchObject({ failure: 'malformed' });
    expect([metrics.retries, lines.filter((line) => line.includes('unreachable'))]).toEqual([retries, []]);
  });

  it.each([
    ['/api/v2/x?page[after]=abc', 'links.next has no page number'],
    ['http://[', 'links.next has no page number'],
    ['?page[number]=0', 'links.next has no page number'],
    [{ href: '?page[number]=2' }, 'links.next is no text'],
    [[], 'links.next is no text'],
  ])('with a link that has no page number are an error: %j', async (next, serviceMessage) => {
    const { error, queries } = await read('platform', platform.views.list, {}, () => jsonApi(['a'], {}, { next }));
    expect(error).toMatchObject({ failure: 'malformed', serviceMessage });
    expect(queries).toHaveLength(1);
  });

  it('with a link to another origin are an error', async () => {
    const { error, queries } = await read('platform', platform.views.list, {}, () =>
      jsonApi(['a'], {}, { next: 'https://evil.example/api/v2/x?page[number]=2' }),
    );
    expect(error).toMatchObject({
      failure: 'malformed',
      serviceMessage: 'links.next leads to another origin, https://evil.example',
    });
    expect(queries).toHaveLength(1);
  });

  it('that end with fewer rows than reported are an error, unless a page in the middle was asked for', async () => {
    const answer = (query: URLSearchParams) => {
      const page = Number(query.get('page[number]') ?? 1);
      return jsonApi([`a${page}`], { 'current-page': page, 'next-page': page < 2 ? 2 : null, 'total-count': 3 });
    };
    const whole = await read('platform', platform['agent-pools'].list, {}, answer);
    expect(whole.error).toMatchObject({ failure: 'malformed', serviceMessage: '2 rows received, 3 reported' });
    await server.close();
    const part = await read('platform', platform['agent-pools'].list, { 'page[number]': 2 }, answer);
    expect([part.pages, part.error]).toEqual([[[{ id: 'a2' }]], undefined]);
  });

  it('of which one in the middle is empty are an error, unless the total is there', async () => {
    const answer = (total?: number) => (query: URLSearchParams) => {
      const page = Number(query.get('page[number]') ?? 1);
      const next = page < 3 ? page + 1 : null;
      return jsonApi(page === 2 ? [] : [`a${page}`], { 'next-page': next, 'total-count': total });
    };
    const { error } = await read('platform', platform['agent-pools'].list, {}, answer());
    expect(error).toMatchObject({
      failure: 'malformed',
      serviceMessage: 'an empty page names a next one, and no total',
    });
    await server.close();
    expect((await read('platform', platform['agent-pools'].list, {}, answer(2))).error).toBeUndefined();
  });

  it.each<[string, (page: number) => string]>([
    ['that name themselves as next', (page) => jsonApi([`a${page}`], { 'current-page': page, 'next-page': page })],
    ['that go back', (page) => jsonApi([`a${page}`], { 'current-page': page, 'next-page': page === 1 ? 2 : 1 })],
    ['that repeat their rows', (page) => jsonApi(['same', 'rows'], { 'next-page': page + 1 })],
    [
      'that stay empty without an end',
      (page) => jsonApi(page === 1 ? ['a'] : [], { 'next-page': page + 1, 'total-count': 9 }),
    ],
  ])('%s end in an error', async (_, answer) => {
    const { error, queries } = await read('platform', platform.agents.list, { agent_pool_id: 'p' }, (query) =>
      answer(Number(query.get('page[number]') ?? 1)),
    );
    expect(error).toMatchObject({
      failure: 'malformed',
      serviceMessage: expect.stringContaining('the list would never end'),
    });
    expect(queries.length).toBeLessThanOrEqual(3);
  });
});

describe('pages by token', () => {
  const list = { plugin_id: 'ab', per_page: 1 };

  it('follow NextToken of the body', async () => {
    const { pages, queries } = await read('scheduler', scheduler['external-volumes'].list, list, (query) =>
      query.get('next_token') === 't/2&'
        ? '{"NextToken":"","Volumes":[{"ExternalID":"b"}]}'
        : '{"NextToken":"t/2&","Volumes":[{"ExternalID":"a"}]}',
    );
    expect(pages).toEqual([[{ ExternalID: 'a' }], [{ ExternalID: 'b' }]]);
    expect(queries).toEqual([
      'plugin_id=ab&per_page=1',
      'plugin_id=ab&per_page=1&next_token=t/2&',
      'plugin_id=ab&next_token=t/2&&per_page=10', // the last page is full, which proves nothing
    ]);
  });

  it('follow the header X-Nomad-NextToken', async () => {
    const { pages } = await read('scheduler', scheduler.volumes.list, { type: 'csi' }, (query) =>
      query.has('next_token') ? '[{"ID":"b"}]' : { body: '[{"ID":"a"}]', headers: { 'X-Nomad-NextToken': 'n' } },
    );
    expect(pages).toEqual([[{ ID: 'a' }], [{ ID: 'b' }]]);
  });

  it('may have volumes of one ID in several namespaces', async () => {
    const { pages, error } = await read('scheduler', scheduler.volumes.list, { type: 'csi' }, (query) =>
      query.has('next_token')
        ? '[{"ID":"db","Namespace":"b"}]'
        : { body: '[{"ID":"db","Namespace":"a"}]', headers: { 'X-Nomad-NextToken': 'b.db' } },
    );
    expect([pages.length, error]).toEqual([2, undefined]);
  });

  it('may have null for an empty list', async () => {
    const { pages, error } = await read(
      'scheduler',
      scheduler.snapshots.list,
      list,
      () => '{"NextToken":"","Snapshots":null}',
    );
    expect([pages, error]).toEqual([[[]], undefined]);
  });

  it.each([
    ['a token that repeats', 'same', ['a', 'b', 'c', 'd']],
    ['a token that is no text', 7, ['a']],
    ['tokens without an end over the same rows', '', ['a', 'a', 'a', 'a']],
  ])('%s is an error', async (_, fixed, ids) => {
    let asked = 0;
    const { error } = await read('scheduler', scheduler.snapshots.list, list, () => {
      asked++;
      return JSON.stringify({ NextToken: fixed || `t${asked}`, Snapshots: [{ ID: ids[asked - 1] }] });
    });
    expect(error).toMatchObject({ failure: 'malformed' });
    expect(asked).toBeLessThanOrEqual(3);
  });
});

it.each([
  [platform.views.create, {}, { data: { name: 'a', query_type: 'modules', query: { filter: [] } } }],
  [platform['agent-pools'].update, { id: 'apool-1' }, { data: { type: 'agent-pools' } }],
] as const)('a write may have an empty response: $0.name', async (operation, args, body) => {
  server = await startServer((_, response) => response.writeHead(204).end());
  const { client } = createTestClient(createTarget('platform', server.origin));
  const answer = await client.call<Operation>(operation, args, { body });
  await client.close();
  expect([answer.status, answer.text, server.requests.length]).toEqual([204, '', 1]);
});

it('a list without pagination is one page', async () => {
  const { pages } = await read('secrets', secrets.keys.list, {}, () => '{"data":{"keys":["a","b"]}}');
  expect(pages).toEqual([['a', 'b']]);
});

it('a warning is logged once, not for every page', async () => {
  const { lines } = await read(
    'platform',
    platform.explorer.query,
    { type: 'workspaces', sort: 'nothing_known' },
    (query) => jsonApi([query.get('page[number]') ?? '1'], { 'next-page': query.has('page[number]') ? null : 2 }),
  );
  expect(lines).toHaveLength(1);
});

describe('numbers of pages that a hostile service sends', () => {
  it.each([
    ['1e300', '1e300', 'the number of the next page is'],
    ['a negative number', '-5', 'again'],
    ['a fraction', '2.5', 'the number of the next page is'],
    ['more than 2^31', '9999999999', 'the number of the next page is'],
    ['a text', '"soon"', 'the number of the next page is no number'],
    ['the same page as a text', '"1"', 'again'],
  ])('%s ends the list', async (_, next, message) => {
    const server = await startServer((_request, response) =>
      response.end(
        `{"data":[{"id":"a"}],"meta":{"pagination":{"current-page":1,"next-page":${next},"total-pages":1e308,"total-count":1e9}}}`,
      ),
    );
    const { client } = createTestClient(createTarget('platform', server.origin));
    const read = async () => {
      for await (const page of client.pages(platform['agent-pools'].list, {})) expect(page.items).toHaveLength(1);
    };
    await expect(read()).rejects.toThrow(message);
    await client.close();
    await server.close();
  });

  it('page 10^9 of 10^9 is asked for once, and allocates nothing', async () => {
    const server = await startServer((request, response) => {
      const next = request.url?.includes('1000000000') ? 'null' : '1000000000';
      const id = request.url?.includes('1000000000') ? 'b' : 'a';
      response.end(
        `{"data":[{"id":"${id}"}],"meta":{"pagination":{"current-page":1,"next-page":${next},"total-pages":1000000000,"total-count":2}}}`,
      );
    });
    const { client } = createTestClient(createTarget('platform', server.origin));
    const before = process.memoryUsage().rss;
    let pages = 0;
    for await (const _ of client.pages(platform['agent-pools'].list, {})) pages++;
    expect(pages).toBe(2);
    expect(server.requests).toHaveLength(2);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 ** 2);
    await client.close();
    await server.close();
  });
});
