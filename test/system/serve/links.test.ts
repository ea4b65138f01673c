import { beforeAll, describe, expect, test } from 'vitest';
import { parseElements } from '../../helpers/html.ts';
import { copyServedProject, HTML, OWN, queryPath, type Served, startServe } from '../../helpers/served.ts';
import { cleanAtEnd } from '../../helpers/temp.ts';

const atEnd = cleanAtEnd();
let server: Served;

beforeAll(async () => {
  server = await startServe(await copyServedProject(atEnd), ['--workers', '6'], { cleanup: atEnd });
});

/**
 * Of addresses that differ by their parameters or their format only, one is opened: of rows, subjects, charts, and files of results; of
 * filters and sorting, one of each kind on any table, because each filter leads to further ones. Of other times, rows and statements, one
 * for each third of the alphabet in which the name of a table or saved query begins.
 */
function kindOf(href: string): string {
  const { pathname, searchParams } = new URL(href, 'http://localhost');
  if (/\/(?:subjects|archive)\//u.test(pathname)) return pathname.replace(/[^/]*$/u, '');
  const format = /^\/(?:query|saved\/[^/]+)(\.(?:csv|json|ndjson|parquet|xlsx))$/u.exec(pathname)?.[1];
  // A picture of an earlier time counts as a page of that time.
  const kept = ['as_of', 'view'].filter((name) => searchParams.has(name)).slice(0, 1);
  const narrowed = [...searchParams.keys()].flatMap((name) => /^_sort.*|^_page|__[a-z]+$/u.exec(name)?.[0] ?? []);
  if (narrowed.length > 0) return `/tables?${[...new Set([...kept, ...narrowed])].sort()}`;
  if (format !== undefined) return `${format}?${kept}`;
  const short = pathname.replace(/(?<=^\/(?:tables|saved)\/)[\w-]+/u, thirdOf);
  if (kept.length > 0 || short.endsWith('/row')) return `${short}?${kept}`;
  const sql = searchParams.get('sql') ?? '';
  const [, table] = /\bfrom "(\w+)/u.exec(sql) ?? [];
  return `${pathname}?${sql.includes('\nwhere ') ? 'where' : table === undefined ? sql : thirdOf(table)}`;
}

const thirdOf = (name: string): string => (name < 'i' ? 'a' : name < 'r' ? 'i' : 'r');

/** The addresses on this server that a page links to. */
function readLinks(path: string, body: string): string[] {
  return parseElements(body).flatMap(({ tag, attributes: { href } }) => {
    if (tag !== 'a' || href === undefined || href.startsWith('#')) return [];
    const url = new URL(href, new URL(path, 'http://localhost'));
    return url.host === 'localhost' ? [`${url.pathname}${url.search}`] : [];
  });
}

test('every link of every page is answered', async () => {
  const opened = new Map<string, string>();
  for (let found = ['/', '/tables?as_of=today']; found.length > 0; ) {
    const fresh = new Map(
      found.map((path) => [kindOf(path), path]).filter(([kind = '']) => !opened.has(kind)) as [string, string][],
    );
    found = [];
    for (const [kind, path] of fresh) opened.set(kind, path);
    const paths = [...fresh.values()];
    while (paths.length > 0) {
      const links = await Promise.all(
        paths.splice(0, 8).map(async (path) => {
          const { status, headers, body } = await server.get(path, OWN);
          expect([200, 303], `${path}: ${status} ${body.slice(0, 300)}`).toContain(status);
          expect(/.{40}\bNaN\b/u.exec(body)?.[0] ?? '', path).toBe('');
          return headers['content-type']?.startsWith('text/html') ? readLinks(path, body) : [];
        }),
      );
      found.push(...links.flat());
    }
  }
  expect([...opened.values()].filter((path) => /^\/tables\/\w+$/u.test(path)).length).toBeGreaterThan(30);
});

describe('a page of another site', () => {
  const LED = { ...HTML, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };

  test.each(['cross-site', 'same-site'])('runs nothing by a link (%s)', async (site) => {
    const headers = { ...LED, 'sec-fetch-site': site };
    for (const path of [
      queryPath('select 1 as one'),
      queryPath('select 1', 'parquet'),
      '/x/../query.csv?sql=select+1',
      '/saved/agents-by-pool.json',
    ])
      expect((await server.get(path, headers)).status, path).toBe(403);
    const saved = await server.get('/saved/agents-by-pool', headers);
    expect([saved.status, saved.body.includes('id="result"')]).toEqual([200, false]);
  });

  test.each(['cross-site', 'same-site', 'none', ''])(
    'fills the form of SQL, and the reader runs it (%s)',
    async (site) => {
      const headers = { ...LED, ...(site && { 'sec-fetch-site': site }) };
      const { status, body } = await server.get('/sql?sql=select+40%2B2+as+answer', headers);
      expect([status, body.includes('has not run'), body.includes('id="result"')]).toEqual([200, true, false]);
      expect(body).toContain('select 40+2 as answer');
      const run = await server.get('/sql?sql=select+40%2B2+as+answer', OWN);
      expect([run.body.includes('has not run'), run.body.includes('id="result"')]).toEqual([false, true]);
    },
  );

  test('does not keep tools from the files of results, nor a reader from opening their addresses', async () => {
    for (const headers of [{}, { ...LED, 'sec-fetch-site': 'none' }, OWN])
      expect((await server.get(queryPath('select 1 as one'), headers)).body).toBe('one\n1\n');
  });
});
