import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { copyServedProject, type Served, startServe } from '../../helpers/served.ts';
import { cleanAtEnd } from '../../helpers/temp.ts';

const atEnd = cleanAtEnd();

/** The requests that Grafana's Infinity source and Excel's Power Query send for the settings in docs/analysts.md, to a server with a token. */
const DOCUMENT = readFileSync(join(PACKAGE_ROOT, 'docs', 'analysts.md'), 'utf8');
const TOKEN = 'correct-horse-battery-staple';
/** Grafana's variables for the range of a dashboard. */
const FROM = `\${__from:date:iso}`;
const TO = `\${__to:date:iso}`;
const HOST = 'tidemark.internal:8420';

let server: Served;

beforeAll(async () => {
  const folder = await copyServedProject(atEnd);
  await writeFile(join(folder, 'serve.token'), TOKEN);
  const words = ['--listen', '127.0.0.1', '--token-file', 'serve.token', '--allow-host', 'tidemark.internal'];
  server = await startServe(folder, words, { cleanup: atEnd });
});

const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

describe('Grafana Infinity', () => {
  const [, section = ''] = DOCUMENT.split('\n### Grafana\n');
  const { datasources } = parseYaml(/```yaml\n([\s\S]*?)```/u.exec(section)?.[1] ?? '') as {
    datasources: [{ basicAuthUser: string; jsonData: { allowedHosts: [string] } }];
  };
  const [source] = datasources;
  /** Go's `url.Values.Encode`, and the variables of a dashboard of one month. */
  const encode = (params: Record<string, string>) =>
    new URLSearchParams(
      Object.entries(params).map(([name, value]): [string, string] => [
        name,
        value.replaceAll(FROM, '2000-01-01T00:00:00.000Z').replaceAll(TO, '2100-01-01T00:00:00.000Z'),
      ]),
    ).toString();
  const headers = (accept: string, authorization: string) => ({
    host: HOST,
    'user-agent': 'Go-http-client/1.1',
    'accept-encoding': 'gzip',
    accept,
    authorization,
  });
  const JSON_ACCEPT = 'application/json;q=0.9,text/plain';
  const sql = /\| URL query param `sql` \| `([^`]+)` \|/u.exec(section)?.[1] ?? '';

  test('its allowed host is the one of its address', () => {
    expect(source.jsonData.allowedHosts).toEqual([`http://${HOST}`]);
    expect(section).toContain(`GET, \`http://${HOST}/query.json\``);
  });

  test.each([
    ['Basic', basic(source.basicAuthUser, TOKEN)],
    ['Bearer', `Bearer ${TOKEN}`],
  ])('reads a time series as JSON (%s)', async (_, authorization) => {
    const {
      status,
      body,
      headers: answered,
    } = await server.get(`/query.json?${encode({ sql })}`, headers(JSON_ACCEPT, authorization));
    expect([status, answered['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    const rows = JSON.parse(body) as { as_of: string; rows: number }[];
    expect(rows).toHaveLength(2);
    for (const { as_of, rows: count } of rows) {
      expect(as_of).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/u);
      expect(count).toBe(20);
    }
  });

  test('reads a saved query with the start of the dashboard as its parameter, as JSON and as CSV', async () => {
    const query = encode({ since: FROM });
    const json = await server.get(`/saved/changes.json?${query}`, headers(JSON_ACCEPT, `Bearer ${TOKEN}`));
    expect(json.status).toBe(200);
    const csv = await server.get(`/saved/changes.csv?${query}`, headers('text/csv; charset=utf-8', `Bearer ${TOKEN}`));
    expect(parse(csv.body)).toHaveLength((JSON.parse(json.body) as unknown[]).length + 1);
  });

  test('gets a message in plain text for a query that is wrong, and 401 without the token', async () => {
    const wrong = await server.get(
      `/query.json?${encode({ sql: 'from nowhere' })}`,
      headers(JSON_ACCEPT, `Bearer ${TOKEN}`),
    );
    expect([wrong.status, wrong.headers['content-type']]).toEqual([400, 'text/plain; charset=utf-8']);
    expect(wrong.body).toContain('Table with name nowhere does not exist');
    const refused = await server.get(`/query.json?${encode({ sql })}`, headers(JSON_ACCEPT, 'Bearer wrong'));
    expect(refused.status).toBe(401);
  });
});

describe('Excel Power Query', () => {
  const [, section = ''] = DOCUMENT.split('\n### Excel and Power BI\n');
  const program = /```m\n([\s\S]*?)```/u.exec(section)?.[1] ?? '';
  const path = /RelativePath = "([^"]+)"/u.exec(program)?.[1] ?? '';
  const sql = /Query = \[sql = "([^"]+)"\]/u.exec(program)?.[1] ?? '';
  /** `Uri.EscapeDataString`, which `Web.Contents` applies to `Query`. */
  const address = (file: string, query: string) =>
    `/${file}?sql=${encodeURIComponent(query).replaceAll(/[!'()*]/gu, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)}`;
  const headers = {
    host: HOST,
    'user-agent': 'Microsoft.Data.Mashup (https://go.microsoft.com/fwlink/?LinkID=304225)',
    'accept-encoding': 'gzip, deflate',
    connection: 'Keep-Alive',
  };
  const signedIn = { ...headers, authorization: basic('excel', TOKEN) };

  test('is asked to sign in by the first request, and then reads CSV with the types of the example', async () => {
    const first = await server.get(address(path, sql), headers);
    expect([first.status, first.headers['www-authenticate']]).toEqual([401, 'Basic realm="tidemark", charset="UTF-8"']);
    const { status, headers: answered, body } = await server.get(address(path, sql), signedIn);
    expect([status, answered['content-type']]).toEqual([200, 'text/csv; charset=utf-8; header=present']);
    const rows = parse(body, { columns: true }) as Record<string, string>[];
    expect(rows.length).toBeGreaterThan(1);
    for (const { workspaces, updated_at } of rows) {
      expect(workspaces).toMatch(/^\d+$/u);
      expect(updated_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/u);
    }
  });

  test('reads JSON as one array of records with the same columns', async () => {
    const { body } = await server.get(address('query.json', sql), signedIn);
    const [row] = JSON.parse(body) as Record<string, unknown>[];
    expect(Object.keys(row ?? {})).toEqual(['project_name', 'workspaces', 'updated_at']);
  });

  test('reads cells with quotes and line breaks', async () => {
    const query = `select 'a "b", c' || chr(10) || 'd' as x, null as y, '' as z`;
    const { body } = await server.get(address('query.csv', query), signedIn);
    expect(parse(body)).toEqual([
      ['x', 'y', 'z'],
      ['a "b", c\nd', '', ''],
    ]);
  });
});
