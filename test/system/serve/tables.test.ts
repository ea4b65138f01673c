import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { openDatabase } from '../../../src/warehouse/database.ts';
import { warehouseFiles } from '../../../src/warehouse/publish.ts';
import { createSqlFiles } from '../../../src/warehouse/sql-files.ts';
import { loadViews } from '../../../src/warehouse/tables.ts';
import { changePublished } from '../../helpers/change-warehouse.ts';
import { type PageElement, parseElements } from '../../helpers/html.ts';
import {
  copyServedProject,
  HOSTILE,
  HOSTILE_ID,
  HTML,
  OWN,
  queryPath,
  type Served,
  startServe,
} from '../../helpers/served.ts';
import { cleanAtEnd } from '../../helpers/temp.ts';

const atEnd = cleanAtEnd();
let folder: string;
let server: Served;

beforeAll(async () => {
  folder = await copyServedProject(atEnd);
  await changePublished(folder, async (database) => {
    await database.run(`insert into pulls
      select pulls.* replace ('many' as run_id, 'source-' || lpad(range::varchar, 3, '0') as source, if(range % 3 = 0, 'failed', 'complete') as status, if(range % 2 = 0, 'e' || chr(27), 'f') as error, if(range % 2 = 0, 'n', repeat('o', 1001)) as note, range as rows, null as unknown_parts)
      from (from pulls limit 1) as pulls, range(250)`);
    await database.run(`insert into pulls
      select pulls.* replace ('fleet' as run_id, 'fleet-' || range as target, 'keys' as source, 'complete' as status, null as unknown_parts)
      from (from pulls limit 1) as pulls, range(2500)`);
    await database.run('drop view unknown_parts');
    await database.run('drop macro table unknown_parts_at');
  });
  server = await startServe(folder, [], { cleanup: atEnd });
});

const open = async (path: string) => {
  const { status, body } = await server.get(path, HTML);
  expect(status, `${path}: ${body.slice(0, 500)}`).toBe(200);
  return parseElements(body);
};
const inRows = (page: readonly PageElement[]) =>
  page.find(({ attributes }) => attributes.id === 'rows')?.descendants ?? [];
const rowsOf = (page: readonly PageElement[]) =>
  inRows(page)
    .filter(({ tag }) => tag === 'tr')
    .slice(1)
    .map(({ descendants }) => descendants.filter(({ tag }) => tag === 'td').map(({ text }) => text));
const headers = (page: readonly PageElement[]) =>
  inRows(page)
    .filter(({ tag }) => tag === 'th')
    .map(({ text }) => text);
const link = (page: readonly PageElement[], name: string) =>
  page.find(({ tag, text }) => tag === 'a' && text === name)?.attributes.href ?? `no link ${name}`;
const MANY = '/tables/pulls?run_id__exact=many';

describe('the rows of a table', () => {
  test('are all there, page after page, and none twice', async () => {
    const sources: string[] = [];
    for (let path = `${MANY}&_sort=status`; path !== 'no link Next rows'; ) {
      const page = await open(path);
      const index = headers(page).indexOf('source');
      sources.push(...rowsOf(page).map((row) => row[index] ?? ''));
      path = link(page, 'Next rows');
    }
    expect(sources).toHaveLength(250);
    expect(new Set(sources).size).toBe(250);
  });

  test('have the state of every target of a large fleet', async () => {
    const { body } = await server.get('/tables/keys');
    expect(new Set(body.match(/\bfleet-\d+/gu)).size).toBe(2500);
  });

  test('are refused for thousands of filters, each of which would have a link that repeats all others', async () => {
    const filters = (count: number) => `/tables/pulls?${Array(count).fill('source__not=x').join('&')}`;
    expect((await server.get(filters(4000))).status).toBe(400);
    expect((await server.get(filters(100))).status).toBe(200);
  });

  test('are sorted by a column of the address, and its header sorts the other way', async () => {
    const page = await open(`${MANY}&_sort=rows`);
    const index = headers(page).indexOf('rows');
    expect(
      rowsOf(page)
        .slice(0, 3)
        .map((row) => row[index]),
    ).toEqual(['0', '1', '2']);
    const reverse = await open(link(page, 'rows'));
    expect(
      rowsOf(reverse)
        .slice(0, 3)
        .map((row) => row[index]),
    ).toEqual(['249', '248', '247']);
    expect(reverse.find(({ attributes }) => attributes['aria-sort'])?.text).toBe('rows');
  });

  test.each([
    ['rows__gte=248', 2],
    ['rows__lte=1', 2],
    ['source__contains=SOURCE-24', 10],
    ['status__not=complete', 84],
    ['unknown_parts__isnull=1', 250],
    ['unknown_parts__notnull=1', 0],
    [`source__exact=${encodeURIComponent("it's")}`, 0],
    [`source__contains=${encodeURIComponent(HOSTILE)}`, 0],
    ['status__exact=failed&rows__gte=100', 50],
  ])('are those that a filter of the address leaves: %s', async (filter, count) => {
    const page = await open(`${MANY}&${filter}`);
    const [counted] =
      /\d+(?= rows?$)|(?<=of )\d+/u.exec(page.find(({ attributes }) => attributes.id === 'rows-title')?.text ?? '') ??
      [];
    expect([Number(counted), rowsOf(page).length]).toEqual([count, Math.min(count, 100)]);
    const query = await server.get(link(page, 'CSV'));
    expect(query.body.trim().split('\n')).toHaveLength(count + 1);
  });

  test.each([
    ['statuz=failed', 'did you mean status?'],
    ['status__is=failed', 'unknown operator is'],
    ['_sort=statuz', 'unknown column statuz'],
    ['target__exact=%00x', 'one statement'],
    ['rows__gte=%1bmany', 'Could not convert string'],
    ['%1bstatuz%E2%80%AE__exact=x', 'unknown column statuz'],
    ['_page=0', '_page=0 is not a page'],
    ['rows__gte=many', 'Could not convert string'],
  ])('are refused, and not shown unfiltered, where the address is wrong: %s', async (filter, message) => {
    const { status, body } = await server.get(`${MANY}&${filter}`);
    expect([status, body]).toEqual([400, expect.stringContaining(message)]);
    for (const control of ['\u0000', '\u001b', '\u202e']) expect(body).not.toContain(control);
  });

  test('are filtered by values that they have in common, and by the form, without a script', async () => {
    const page = await open(MANY);
    const facet = page.find(
      ({ tag, attributes, text }) => tag === 'a' && attributes.href?.includes('status__exact') && text === 'failed',
    );
    expect(rowsOf(await open(facet?.attributes.href ?? ''))).toHaveLength(84);
    const { body } = await server.get(MANY, HTML);
    expect(body).not.toContain('\u001b');
    expect(page.find(({ attributes }) => attributes.class === 'facets')?.descendants[0]?.text).toMatch(
      /error(?!.*note)/u,
    );
    const filtered = await open(`${MANY}&as_of=&_column=rows&_op=lte&_value=3&_page=1`);
    expect(rowsOf(filtered)).toHaveLength(4);
    expect(link(filtered, 'status')).toBe(`${MANY}&rows__lte=3&_sort=status`);
    expect(link(filtered, 'remove the filter of rows')).toBe(MANY);
    expect(rowsOf(await open(MANY))).toHaveLength(100);
  });

  test('begin with the name, which leads to the page of the row, and this has the name as its title', async () => {
    const page = await open('/tables/workspaces');
    expect(headers(page)[0]).toBe('workspace_name');
    const href =
      page.find(({ tag, attributes }) => tag === 'a' && attributes.href?.includes(HOSTILE_ID))?.attributes.href ?? '';
    const row = await open(href);
    expect(row.find(({ tag }) => tag === 'h1')?.text).toBe(HOSTILE.replace('\u001b', ''));
    expect((await server.get(href, HTML)).body).not.toContain('\u001b');
    expect(row.some(({ tag, attributes }) => tag === 'img' || 'onerror' in attributes)).toBe(false);
  });

  test('of a log have a page too, by what identifies them', async () => {
    const page = await open('/tables/pulls?status__exact=failed');
    const href =
      page.find(({ tag, attributes }) => tag === 'a' && attributes.href?.includes('/row?'))?.attributes.href ?? '';
    const row = await open(href);
    expect(row.find(({ tag }) => tag === 'dl')?.text).toContain('source-');
  });

  test('of a log are those until the time of the page; a table without a past says that it has none', async () => {
    const [{ as_of: first = '' } = {}] = JSON.parse(
      (await server.get(queryPath('select min(as_of) as as_of from pulls', 'json'))).body,
    ) as { as_of?: string }[];
    const page = await open(`/tables/pulls?as_of=${first}&_sort_desc=as_of`);
    expect(new Set(rowsOf(page).map((row) => row[headers(page).indexOf('as_of')]))).toEqual(new Set([first]));
    expect(
      (await open(`/tables/rule_evaluations?as_of=${first}`)).find(({ attributes }) => attributes.role === 'note')
        ?.text,
    ).toContain('keeps no past');
  });
});

describe('the views', () => {
  test('are tables of the catalogue, with the columns that they have', async () => {
    const database = await openDatabase(warehouseFiles(join(folder, 'data')).published, { readOnly: true });
    const views = await loadViews(createSqlFiles([PACKAGE_ROOT]));
    expect(views.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['certificates', 'changes', 'source_state', 'unknown_parts']),
    );
    const links = (await open('/tables')).filter(({ tag }) => tag === 'th').map(({ text }) => text);
    for (const { name, columns } of views) {
      expect(links).toContain(name);
      if (name === 'unknown_parts') continue; // dropped here
      const found = await database.rows(
        `select column_name, lower(column_type) as column_type from (describe ${name})`,
      );
      const types = found.map(({ column_name, column_type }) => [
        column_name,
        String(column_type).replace('timestamp with time zone', 'timestamptz'),
      ]);
      expect(
        columns.map((column) => [column.name, column.type]),
        name,
      ).toEqual(types);
    }
    database.close();
  });

  test('show their past, and say that a file does not have one yet', async () => {
    const [{ as_of: first = '' } = {}] = JSON.parse(
      (await server.get(queryPath('select min(as_of) as as_of from pulls', 'json'))).body,
    ) as { as_of?: string }[];
    const state = `/query.csv?${new URLSearchParams({ sql: 'select max(as_of) as t from source_state', as_of: first })}`;
    expect((await server.get(state)).body).toBe(`t\n${first}\n`);
    for (const path of ['/tables/unknown_parts', `/tables/unknown_parts?as_of=${first}`]) {
      const page = await open(path);
      expect(page.find(({ attributes }) => attributes.role === 'note')?.text).toContain('does not have this table yet');
    }
  });

  test('are completed by the editor', async () => {
    const names = JSON.parse((await server.get('/sql/names.json', OWN)).body) as Record<string, readonly string[]>;
    expect(names.changes).toEqual(['at', 'target', 'table', 'key', 'name', 'change', 'column', 'old', 'new']);
  });
});
