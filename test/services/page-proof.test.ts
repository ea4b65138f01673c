import { afterEach, describe, expect, it } from 'vitest';
import type { Target, TargetKind } from '../../src/config/config.ts';
import { platform, scheduler } from '../../src/services/index.ts';
import type { Operation } from '../../src/services/operation.ts';
import { createTarget, createTestClient, startServer, type TestServer } from '../helpers/http-service.ts';

let server: TestServer;
afterEach(() => server.close());

type Answer = readonly [status: number, body: string];

interface ListOptions {
  readonly kind: TargetKind;
  readonly operation: Operation;
  readonly args: object;
  readonly target?: Partial<Target>;
}

/** Reads a whole list from a server whose responses depend on the query. */
async function read({ kind, operation, args, target }: ListOptions, answer: (query: URLSearchParams) => Answer) {
  server = await startServer((request, response) => {
    const [status, body] = answer(new URL(request.url ?? '', 'http://x').searchParams);
    response.writeHead(status).end(body);
  });
  const { client, lines } = createTestClient(createTarget(kind, server.origin, target));
  const items: unknown[] = [];
  const error = await (async () => {
    for await (const page of client.pages<Operation>(operation, { ...args })) items.push(...page.items);
  })().catch((thrown: unknown) => thrown);
  await client.close();
  const queries = server.requests.map(({ url }) => decodeURIComponent(url.split('?')[1] ?? ''));
  return {
    count: items.length,
    distinct: new Set(items.map((item) => JSON.stringify(item))).size,
    error,
    queries,
    lines,
  };
}

const externalVolumes: ListOptions = {
  kind: 'scheduler',
  operation: scheduler['external-volumes'].list,
  args: { plugin_id: 'ab' },
};
const volumes = (count: number, nextToken = ''): Answer => [
  200,
  JSON.stringify({ NextToken: nextToken, Volumes: Array.from({ length: count }, (_, n) => ({ ExternalID: `v${n}` })) }),
];

describe('a full page by token that names no next page', () => {
  it('is requested with a larger size until all items came', async () => {
    const { count, distinct, error, queries, lines } = await read(externalVolumes, (query) =>
      volumes(Math.min(1003, Number(query.get('per_page') ?? 1003))),
    );
    expect([count, distinct, error]).toEqual([1003, 1003, undefined]);
    expect(queries.map((query) => /per_page=(\d+)/u.exec(query)?.[1])).toEqual(['100', '1000', '10000']);
    expect(lines.join('')).toContain('a page of 100 items names no next page, one of 1000 has more');
  });

  it('is complete when a larger one has the same items', async () => {
    const { count, queries, lines } = await read(externalVolumes, () => volumes(100));
    expect([count, queries.length, lines]).toEqual([100, 2, []]);
  });

  it('is not used any more: the larger size stays for the pages that follow', async () => {
    const { count, queries } = await read(externalVolumes, (query) => {
      if (query.has('next_token')) return [200, JSON.stringify({ NextToken: '', Volumes: [{ ExternalID: 'last' }] })];
      return query.get('per_page') === '100' ? volumes(100) : volumes(1000, 'more');
    });
    expect(count).toBe(1001);
    expect(queries.at(-1)).toBe('plugin_id=ab&next_token=more&per_page=1000');
  });

  it('is complete when a larger size is refused and a smaller one names a next page', async () => {
    const { count, error } = await read(externalVolumes, (query) => {
      const size = Number(query.get('per_page'));
      return size > 100 ? [400, 'per_page is at most 100'] : volumes(size, size < 100 ? 'more' : '');
    });
    expect([count, error]).toEqual([100, undefined]);
  });

  it('is an error when a larger size is refused and a smaller one names no next page', async () => {
    const { error } = await read(externalVolumes, (query) => {
      const size = Number(query.get('per_page'));
      return size > 100 ? [400, 'per_page is at most 100'] : volumes(size);
    });
    expect(error).toMatchObject({ failure: 'malformed', serviceMessage: expect.stringContaining('there may be more') });
  });

  it('is an error when every larger page is full as well', async () => {
    const { error } = await read({ ...externalVolumes, args: { plugin_id: 'ab', per_page: 1 } }, (query) =>
      Number(query.get('per_page')) > 10_000 ? [413, 'too large'] : volumes(Number(query.get('per_page'))),
    );
    expect(error).toMatchObject({ failure: 'too-large' });
  });
});

it.each([
  [scheduler['external-volumes'].list, 'Volumes'],
  [scheduler.snapshots.list, 'Snapshots'],
] as const)('with flavor hashicorp no page size is sent: $0.name', async (operation, field) => {
  const { queries } = await read({ ...externalVolumes, operation, target: { flavor: 'hashicorp' } }, () => [
    200,
    JSON.stringify({ NextToken: '', [field]: [{ ID: 'a' }] }),
  ]);
  expect(queries).toEqual(['plugin_id=ab']);
});

describe('a full page by number without a total', () => {
  const agents: ListOptions = { kind: 'platform', operation: platform.agents.list, args: { agent_pool_id: 'p' } };
  const rows = (from: number, to: number): Answer => [
    200,
    JSON.stringify({ data: Array.from({ length: to - from }, (_, n) => ({ id: `a${from + n}` })) }),
  ];
  const bySize = (total: number) => (query: URLSearchParams) => {
    const size = Number(query.get('page[size]') ?? 20);
    const page = Number(query.get('page[number]') ?? 1);
    return rows(Math.min(total, (page - 1) * size), Math.min(total, page * size));
  };

  it.each([20, 40, 45])('is followed by the page after it: %i rows', async (total) => {
    const { count, distinct, error } = await read(agents, bySize(total));
    expect([count, distinct, error]).toEqual([total, total, undefined]);
  });

  it('is complete when the page after it does not exist', async () => {
    const { count, error } = await read(agents, (query) =>
      query.has('page[number]') ? [404, '{"errors":[]}'] : rows(0, 20),
    );
    expect([count, error]).toEqual([20, undefined]);
  });

  it.each([
    [404, '<html><title>Not Found</title></html>'],
    [404, ''],
    [410, 'gone'],
    [400, 'Bad Request'],
    [422, '{"message": "blocked"}'],
  ])('is an error when something in front of the service answers for the page after it: %i %j', async (...answer) => {
    const { error } = await read(agents, (query) => (query.has('page[number]') ? answer : rows(0, 20)));
    expect(error).toMatchObject({ status: answer[0] });
  });

  it('is complete when page numbers are ignored and a larger page has the same rows', async () => {
    const { count, error } = await read(agents, () => rows(0, 20));
    expect([count, error]).toEqual([20, undefined]);
  });

  it('is an error when page numbers are ignored and a larger page has more rows', async () => {
    const { error } = await read(agents, (query) => rows(0, Math.min(30, Number(query.get('page[size]') ?? 20))));
    expect(error).toMatchObject({ failure: 'malformed', serviceMessage: expect.stringContaining('there may be more') });
  });
});

it.each([2, '2'])('a list with fewer rows than its total is an error: %j', async (total) => {
  const { error } = await read(
    { kind: 'platform', operation: platform.agents.list, args: { agent_pool_id: 'p' } },
    () => [
      200,
      JSON.stringify({ data: [{ id: 'a' }], meta: { pagination: { 'next-page': null, 'total-count': total } } }),
    ],
  );
  expect(error).toMatchObject({ failure: 'malformed', serviceMessage: '1 row received, 2 reported' });
});

it.each([
  ['total-count', '2 rows received, 3 reported'],
  ['total-pages', '2 pages received, 3 reported'],
])('a list that ends before the %s of its first page is an error', async (figure, serviceMessage) => {
  const { error } = await read(
    { kind: 'platform', operation: platform.agents.list, args: { agent_pool_id: 'p' } },
    (query) => {
      const isFirst = !query.has('page[number]');
      const pagination = isFirst ? { 'next-page': 2, [figure]: 3 } : { 'next-page': null };
      return [200, JSON.stringify({ data: [{ id: isFirst ? 'a' : 'b' }], meta: { pagination } })];
    },
  );
  expect(error).toMatchObject({ failure: 'malformed', serviceMessage });
});

it('a page that names the next one by a text is followed by it', async () => {
  const { count, error } = await read(
    { kind: 'platform', operation: platform.agents.list, args: { agent_pool_id: 'p' } },
    (query) => {
      const page = Number(query.get('page[number]') ?? 1);
      const pagination = { 'current-page': `${page}`, 'next-page': page < 12 ? `${page + 1}` : null };
      return [200, JSON.stringify({ data: [{ id: `a${page}` }], meta: { pagination } })];
    },
  );
  expect([count, error]).toEqual([12, undefined]);
});

describe('a page that names no next page, and says nevertheless that there are more,', () => {
  const agents: ListOptions = { kind: 'platform', operation: platform.agents.list, args: { agent_pool_id: 'p' } };
  /** Two rows of a page, of which there are three; a later page does not exist. */
  const answer = (query: URLSearchParams, pagination: object, links: object = { next: null }): Answer => {
    const page = Number(query.get('page[number]') ?? 1);
    const data = page <= 3 ? [{ id: `a${page}` }, { id: `b${page}` }] : [];
    return [200, JSON.stringify({ data, links, meta: { pagination: { 'next-page': null, ...pagination } } })];
  };

  it('is followed: by its number of pages', async () => {
    const { count, distinct, error } = await read(agents, (query) => answer(query, { 'total-pages': 3 }));
    expect([count, distinct, error]).toEqual([6, 6, undefined]);
  });

  it('is followed: by its link', async () => {
    const { count, error } = await read(agents, (query) => {
      const page = Number(query.get('page[number]') ?? 1);
      return answer(query, {}, { next: page < 3 ? `/x?page%5Bnumber%5D=${page + 1}` : null });
    });
    expect([count, error]).toEqual([6, undefined]);
  });

  it('is an error where the service has no page after it', async () => {
    const { error } = await read(agents, (query) =>
      query.has('page[number]') ? [404, '{"errors":[]}'] : answer(query, { 'total-pages': 3 }),
    );
    expect(error).toMatchObject({ failure: 'malformed', serviceMessage: '1 page received, 3 reported' });
  });

  it('is the only one where the total says so', async () => {
    const { count, error, queries } = await read(agents, (query) =>
      answer(query, { 'total-pages': 3, 'total-count': 2 }),
    );
    expect([count, error, queries.length]).toEqual([2, undefined, 1]);
  });
});
