import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { subjectPath } from '../../../src/tell/reports/subjects.ts';
import { changePublished } from '../../helpers/change-warehouse.ts';
import { parseElements } from '../../helpers/html.ts';
import {
  copyServedProject,
  HOSTILE,
  HOSTILE_ID,
  HTML,
  queryPath,
  type Served,
  startServe,
} from '../../helpers/served.ts';
import { cleanAtEnd, share } from '../../helpers/temp.ts';

const atEnd = cleanAtEnd();
let folder: string;
let server: Served;

beforeAll(async () => {
  folder = await copyServedProject(atEnd);
  server = await startServe(folder, [], { cleanup: atEnd });
});

/** A server of a project whose published file tests replace; no test reads what another one has changed. */
const changing = share(async (cleanup) => {
  const project = await copyServedProject(cleanup);
  const served = await startServe(project, [], { cleanup });
  return { change: changePublished.bind(undefined, project), get: served.get };
});

const page = async (path: string) => parseElements((await server.get(path, HTML)).body);
const text = async (path: string) =>
  (await page(path)).find(({ tag }) => tag === 'body')?.text.replaceAll(/\s+/gu, ' ') ?? '';

describe('the home page', () => {
  test('leaves no query that nobody waits for where a query of the user cannot be read', async () => {
    const project = await copyServedProject();
    await mkdir(join(project, 'queries/reports/lead/open_findings.sql'), { recursive: true });
    await writeFile(join(project, 'queries/reports/lead/finding_counts.sql'), 'select nothing from nowhere');
    const served = await startServe(project);
    for (let times = 0; times < 3; times++) expect((await served.get('/', HTML)).status).toBe(400);
    expect((await served.get('/tables', HTML)).status).toBe(200);
  });

  test('tells what is stale in a target once, with the first reason', async () => {
    const project = await copyServedProject();
    await changePublished(project, (database) =>
      database.run(
        `update pulls set status = 'failed', error = 'down: ' || source where source in ('keys', 'kms_providers')`,
      ),
    );
    const served = await startServe(project);
    const shown = parseElements((await served.get('/', HTML)).body);
    const banner = shown.find(({ attributes }) => attributes.class === 'banner')?.text;
    const line = 'vault: keys, kms_providers — never pulled completely; last pull failed: down: keys; …';
    expect(banner).toContain(line);
  });

  test('says when the data was published, the last run, and that old data is stale', async () => {
    const shown = await text('/');
    expect(shown).toMatch(/Published \d{4}-\d\d-\d\d \d\d:\d\d\./u);
    expect(shown).toMatch(/The last run, nightly, ended .* ago and is complete\./u);
  });

  test('names what is critical first, each with a link that answers, and what changed since the run before', async () => {
    const shown = await page('/');
    const [rows] = JSON.parse(
      (
        await server.get(
          queryPath(
            "select count(*) as n, any_value(title) as title from findings where severity = 'critical' and state in ('new', 'open')",
            'json',
          ),
        )
      ).body,
    ) as { n: number; title: string }[];
    const lines = shown.filter(({ attributes }) => attributes.class === 'wrong');
    expect(rows?.n).toBeGreaterThan(0);
    expect(lines).toHaveLength(rows?.n ?? 0);
    expect(lines.map(({ text: line }) => line).join()).toContain(rows?.title);
    for (const { text: line } of lines) expect(line).toMatch(/Next:.*tidemark/su);
    const overview = JSON.parse(await readFile(join(folder, 'out', 'overview.json'), 'utf8')) as {
      finding_counts: [{ warning: number }];
    };
    expect(await text('/')).toContain(`${overview.finding_counts[0].warning} warning`);
    for (const { descendants } of lines) {
      const href = descendants.find(({ tag }) => tag === 'a')?.attributes.href ?? '';
      expect((await server.get(href, HTML)).status, href).toBe(200);
    }
    const order = ['Critical', 'Last night', 'Age of the data', 'Tools'].map((title) =>
      shown.findIndex(({ tag, text: name }) => tag === 'h2' && name.startsWith(title)),
    );
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(order[0]).toBeGreaterThan(0);
  });

  test('names the first critical findings of an estate that has more than a page holds, and counts the others', async () => {
    const { change, get } = await changing();
    const [targets, findings] = [250, 50];
    await change(async (database) => {
      await database.script(`
        create temp table one as from findings where severity = 'critical' and state in ('new', 'open') limit 1;
        create temp table many as select one.* replace (concat('f-', t, '-', n) as finding_id, concat('target-', t) as target, repeat('long', 200) || n as title) from one, range(${targets}) as a (t), range(${findings}) as b (n);
        insert into findings from many;
        insert into finding_events by name select finding_id, target, rule, first_seen as changed_at, state, severity, 'found' as reason from many;
      `);
    });
    const { status, body } = await get('/', HTML);
    expect(status, body).toBe(200);
    const shown = parseElements(body).filter(({ attributes }) => attributes.class === 'wrong');
    expect(shown).toHaveLength(21);
    const count = Number(/([\d,]+) critical/u.exec(body)?.[1]?.replaceAll(',', ''));
    expect(count).toBeGreaterThanOrEqual(targets * findings);
    const more = Number(/and ([\d,]+) more/u.exec(shown.at(-1)?.text ?? '')?.[1]?.replaceAll(',', ''));
    expect(more).toBeGreaterThan(count - 20 * findings - 1);
    expect(more).toBeLessThan(count);
  });

  test('tells the rows that changed in the last run by table, with a link to them', async () => {
    const { change, get } = await changing();
    await change(async (database) => {
      await database.run(
        `insert into agents_history select * replace ('agent-added' as agent_id, 'added' as name, (select max(as_of) from pulls) as valid_from) from agents_history where valid_to is null limit 1`,
      );
    });
    const row = parseElements((await get('/', HTML)).body).find(
      ({ tag, text: content }) => tag === 'tr' && content.startsWith('agents'),
    );
    const href = row?.descendants.find(({ tag }) => tag === 'a')?.attributes.href ?? '';
    expect((await get(href, HTML)).body).toContain('agent-added');
  });

  test('counts the findings that changed in the last run, with a link to their events', async () => {
    const { change, get } = await changing();
    await change(async (database) => {
      const one = `select * replace (last_pull as changed_at, 'critical' as severity, 'severity changed' as reason)
        from finding_events cross join (select max(as_of) as last_pull from pulls) where severity = 'info' and state = 'open' limit 1`;
      await database.run(`insert into finding_events by name select * exclude (last_pull) from (${one})`);
    });
    const link = parseElements((await get('/', HTML)).body).find(
      ({ tag, text: content }) => tag === 'a' && content.includes('new or returned'),
    );
    expect(link?.text).toMatch(/ 1 got worse, /u);
    const { body } = await get(link?.attributes.href ?? '', HTML);
    const events = parseElements(body)
      .filter(({ tag }) => tag === 'td')
      .map(({ text: content }) => content);
    expect(events).toContain('severity changed');
    expect(events).not.toContain('no longer new');
    expect(events).not.toContain('baseline'); // of the run before
  });

  test('calls a target that was never pulled unknown, and not fresh', async () => {
    const { change, get } = await changing();
    await change(async (database) => {
      await database.run(`delete from pulls where target = 'vault'`);
      await database.run(`update finding_events set severity = 'warning'`);
    });
    const { body } = await get('/', HTML);
    expect(body).toContain('No critical finding is known, but not everything could be assessed.');
    const row = parseElements(body).find(({ tag, text: content }) => tag === 'tr' && content.startsWith('vault'));
    expect(row?.text).toMatch(/vault\s*unknown\s*—\s*never pulled/u);
    const freshness = parseElements(body).find(({ attributes }) => attributes.id === 'freshness');
    expect(freshness?.text).toMatch(/^unknown/u);
    expect(freshness?.descendants[0]?.attributes['data-value']).toBe('unknown');
  });

  test('of a project without a published file says so', async () => {
    const other = await copyServedProject();
    await rm(join(other, 'data', 'warehouse.duckdb'));
    const { get } = await startServe(other);
    const { status, body } = await get('/', HTML);
    expect([status, body.includes('Nothing is published yet')]).toEqual([200, true]);
    const query = await get(queryPath('select 1'));
    expect([query.status, query.body.includes(other)]).toEqual([503, false]);
  });
});

describe('as of', () => {
  test('is on every page, and keeps the other parameters', async () => {
    for (const path of [
      '/',
      '/tables',
      '/tables/workspaces',
      '/saved',
      '/saved/changes?since=2026-01-01',
      '/nope',
      '/reports/drift.html',
    ]) {
      const forms = (await page(path)).filter(({ tag, attributes }) => tag === 'form' && attributes.class === 'as-of');
      expect(forms.length, path).toBe(1);
      const names = forms[0]?.descendants.filter(({ tag }) => tag === 'input').map(({ attributes }) => attributes.name);
      expect(names, path).toEqual(path.includes('since') ? ['since', 'as_of'] : ['as_of']);
    }
  });

  test('of a path that looks like another site leads to none', async () => {
    for (const path of ['//evil.example/', '/\\evil.example/', '/.//evil.example/']) {
      const addresses = (await page(`${path}?as_of=today`)).flatMap(({ attributes: { href, action } }) => [
        href,
        action,
      ]);
      const urls = addresses.flatMap((address) => (address ? new URL(address, server.url) : []));
      expect([...new Set(urls.map(({ host }) => host))].filter(Boolean), path).toEqual([new URL(server.url).host]);
    }
  });

  test('of a report shows what was archived until then', async () => {
    const { status, headers } = await server.get('/reports/drift.html?as_of=2999-01-01', HTML);
    expect(status).toBe(303);
    const location = String(headers.location);
    expect(location).toMatch(/^\/reports\/archive\/\d{4}-\d\d-\d\d\/drift\.html$/u);
    expect((await server.get(location, HTML)).body).toContain('class="as-of"');
    const before = await server.get('/reports/drift.html?as_of=2001-01-01', HTML);
    expect([before.status, before.body.includes('is before the first pull')]).toEqual([400, true]);
  });

  test('shows a table as it was, and links keep it', async () => {
    const shown = await page('/tables/workspaces?as_of=today');
    const links = shown.filter(
      ({ tag, attributes, text: name }) => tag === 'a' && name !== 'Present' && attributes.href?.startsWith('/tables'),
    );
    expect(links.every(({ attributes }) => attributes.href?.includes('as_of=today'))).toBe(true);
    expect(shown.find(({ attributes }) => attributes.id === 'as-of')?.attributes.value).toBe('today');
  });

  test('that is not a time is an error page with a status, and not shown as data', async () => {
    const { status, body } = await server.get('/tables?as_of=tomorrow', HTML);
    expect(status).toBe(400);
    expect(body).toContain('tomorrow names no moment');
  });
});

describe('the tables', () => {
  test('are all documented ones, without those of the program', async () => {
    const links = (await page('/tables')).filter(({ tag }) => tag === 'th').map(({ text: name }) => name);
    expect(links).toEqual(expect.arrayContaining(['workspaces', 'agents', 'runs', 'findings']));
    expect(links.filter((name) => /schema_digest|_members|warehouse_identity|interrupted/u.test(name))).toEqual([]);
    const { status, body } = await server.get('/tables/warehouse_identity');
    expect([status, body]).toEqual([404, expect.stringContaining('there is no table warehouse_identity\n')]);
  });

  test('that the published file does not have yet have no number of rows, and the others do', async () => {
    const { change, get } = await changing();
    await change((database) => database.run('drop table outbox'));
    const { status, body } = await get('/tables', HTML);
    expect(status).toBe(200);
    const row = (name: string) =>
      parseElements(body).find(({ tag, text: content }) => tag === 'tr' && content.startsWith(name));
    expect(row('outbox')?.text).toMatch(/——$/u);
    expect(row('runs')?.text).toMatch(/2—$/u);
  });

  test('lead from a row of the sample to its history', async () => {
    const shown = await page('/tables/workspaces');
    const link = shown.find(
      ({ tag, attributes }) => tag === 'a' && attributes.href?.includes(`external_id=${HOSTILE_ID}`),
    );
    const row = await text(link?.attributes.href ?? '');
    expect(row).toContain('Timeline');
    expect(row).toContain(HOSTILE_ID);
  });

  test('a row shows what changed, the old value before the new one', async () => {
    const { change, get } = await changing();
    await change(async (database) => {
      await database.run(`update agents_history set valid_to = valid_from + interval 1 hour where valid_to is null`);
      await database.run(`insert into agents_history select * replace ('renamed' as name, valid_to as valid_from, null as valid_to) from agents_history
        where valid_to is not null qualify row_number() over (partition by target, agent_id order by valid_to desc) = 1`);
    });
    const sample = parseElements((await get('/tables/agents', HTML)).body);
    const href =
      sample.find(({ tag, attributes }) => tag === 'a' && attributes.href?.includes('/row?'))?.attributes.href ?? '';
    const entry = parseElements((await get(href, HTML)).body).find(
      ({ tag, attributes }) => tag === 'li' && attributes['data-kind'] === 'history',
    );
    expect(entry?.text).toMatch(/Changed[\s\S]*name:[\s\S]+→ renamed/u);
  });

  test('a finding says its rule, what it saw, what ends it and the playbook', async () => {
    const query =
      "select finding_id, detail from findings where rule = 'management-role' and state <> 'resolved' limit 1";
    const [finding] = JSON.parse((await server.get(queryPath(query, 'json'))).body) as { finding_id: string }[];
    const id = finding?.finding_id ?? '';
    const item = (await page(`/tables/findings/row?finding_id=${id}`)).find(({ attributes }) => attributes.id === id);
    expect(item?.text).toMatch(
      /tidemark playbook plan .*Rule.*management tokens.*Saw.*role.*complete pull of mesh_roles/su,
    );
  });

  test('a row of a finding, and of a subject, links to the page of the subject and to the product', async () => {
    const place = await copyServedProject();
    const path = join(place, 'tidemark.yaml');
    const config = parse(await readFile(path, 'utf8')) as { targets: { name: string; links?: object }[] };
    for (const target of config.targets) if (target.name === 'acme') target.links = { ui: 'https://app.example.com' };
    await writeFile(path, stringify(config));
    const { get } = await startServe(place);
    const sql = `select finding_id, subject_id, subject_name from findings where subject_type = 'workspace' and state <> 'resolved' and subject_id in (select external_id from workspaces) and subject_id <> '${HOSTILE_ID}' order by finding_id limit 1`;
    const [row] = JSON.parse((await get(queryPath(sql, 'json'))).body) as Record<string, string>[];
    const product = new RegExp(`^https://app\\.example\\.com/app/[^/]+/workspaces/${row?.subject_name}$`, 'u');
    const page = subjectPath({ target: 'acme', type: 'workspace', id: row?.subject_id ?? '' });
    await writeFile(join(place, 'out', page), '<!doctype html>\n<body>');
    for (const address of [
      `/tables/findings/row?finding_id=${row?.finding_id}`,
      `/tables/workspaces/row?target=acme&external_id=${row?.subject_id}`,
    ]) {
      const links = parseElements((await get(address, HTML)).body).flatMap(({ attributes: { href = '' } }) => href);
      expect(links, address).toContain(`/reports/${page}`);
      expect(links, address).toContainEqual(expect.stringMatching(product));
    }
  });

  test('a row that does not exist is not found', async () => {
    const { status, body } = await server.get('/tables/workspaces/row?target=acme&external_id=nobody', HTML);
    expect([status, body.includes('nobody')]).toEqual([404, true]);
  });
});

describe('saved queries', () => {
  test('have a form with typed fields, and run with their defaults', async () => {
    const shown = await page('/saved/changes');
    const since = shown.find(({ attributes }) => attributes.name === 'since');
    expect(since?.attributes.type).toBe('datetime-local');
    expect(since?.attributes.value).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/u);
    expect(shown.some(({ attributes }) => attributes.id === 'result')).toBe(true);
  });

  test('wait for a required parameter', async () => {
    const shown = await page('/saved/workspace-history');
    expect(shown.find(({ attributes }) => attributes.name === 'workspace')?.attributes).toHaveProperty('required');
    expect(shown.some(({ attributes }) => attributes.id === 'result')).toBe(false);
  });

  test('link to files with the same parameters and time', async () => {
    const shown = await page(`/saved/workspace-history?workspace=${HOSTILE_ID}&as_of=2100-01-01`);
    const link = shown.find(
      ({ tag, attributes }) => tag === 'a' && attributes.href?.startsWith('/saved/workspace-history.csv'),
    );
    expect(link?.attributes.href).toBe(`/saved/workspace-history.csv?workspace=${HOSTILE_ID}&as_of=2100-01-01`);
    const { body, headers } = await server.get(link?.attributes.href ?? '');
    expect(body.split('\n')[0]).toContain('workspace_name');
    expect(headers['content-disposition']).toBe('attachment; filename="workspace-history.csv"');
  });

  test('that do not exist, and values that are no values, are errors', async () => {
    expect((await server.get('/saved/nothing', HTML)).status).toBe(404);
    expect((await server.get('/saved/nothing.csv')).status).toBe(404);
    for (const path of ['/saved/changes?since=soon', '/saved/changes?nothing=1', '/saved/changes.csv?since=soon'])
      expect((await server.get(path, HTML)).status, path).toBe(400);
    expect((await server.get('/saved/changes', HTML)).status, 'the server goes on').toBe(200);
  });
});

describe('reports', () => {
  test('include the calendar, at an address of its own', async () => {
    for (const path of ['/deadlines.ics', '/reports/deadlines.ics']) {
      const { status, headers, body } = await server.get(path);
      expect([status, headers['content-type']]).toEqual([200, 'text/calendar; charset=utf-8']);
      expect(body.startsWith('BEGIN:VCALENDAR\r\n')).toBe(true);
    }
  });

  test('are listed with their state and time, and served with the navigation of the site', async () => {
    expect((await server.get('/reports')).headers.location).toBe('/reports/index.html');
    expect(await text('/reports/index.html')).toMatch(/Overview[\s\S]*As of \d{4}/u);
    const { status, headers, body } = await server.get('/reports/overview.html');
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    const written = await readFile(join(folder, 'out', 'overview.html'), 'utf8');
    const [before = '', after = ''] = written.split(/(?<=<body>\n<a class="skip".*<\/a>\n)/u);
    expect(body.endsWith(after)).toBe(true);
    expect(body.startsWith(before.slice(0, before.indexOf('<meta http-equiv')))).toBe(true);
    expect(headers['content-length']).toBe(String(Buffer.byteLength(body)));
    const links = parseElements(body).filter(({ tag, attributes }) => tag === 'a' && attributes.href === '/tables');
    expect(links).toHaveLength(1);
    const policy = String(headers['content-security-policy']);
    const script = /script-src (?<hash>'sha256-[^']+')/u.exec(policy)?.groups?.hash ?? 'none';
    expect(written).toContain(script.replaceAll("'", '&#x27;').replaceAll('=', '&#x3D;'));
    expect(policy).toMatch(/default-src 'none'.*form-action 'self'; frame-ancestors 'none'$/u);
  });

  test('as of a day are those of the archive; before the first one, there are none', async () => {
    const past = String((await server.get('/reports?as_of=2100-01-01', HTML)).headers.location);
    expect(String((await server.get(past, HTML)).headers.location)).toMatch(
      /^\/reports\/archive\/\d{4}-\d\d-\d\d\/index\.html$/u,
    );
    expect(await text('/reports?as_of=2020-01-01')).toContain('is before the first pull');
  });

  test('that no run has written yet are a page that says what writes them', async () => {
    const other = await copyServedProject();
    await rm(join(other, 'out'), { recursive: true });
    const { get } = await startServe(other);
    const { status, body } = await get('/reports/index.html', HTML);
    expect([status, body.includes('a job with reports')]).toEqual([404, true]);
  });

  test('that did not change are not sent again', async () => {
    const { headers } = await server.get('/reports/overview.html');
    const again = await server.get('/reports/overview.html', { 'if-none-match': headers.etag ?? '' });
    expect([again.status, again.body]).toEqual([304, '']);
    expect(again.headers['content-security-policy']).toBe(headers['content-security-policy']);
    const compressed = await server.get('/reports/overview.html', { 'if-none-match': `W/${headers.etag}` });
    expect(compressed.status).toBe(304); // as behind a proxy that compresses
  });

  test.each([
    '/reports/../tidemark.yaml',
    '/reports/..%2ftidemark.yaml',
    '/reports/%2e%2e/tidemark.yaml',
    '/reports/..%2f..%2f..%2f..%2f..%2fetc%2fpasswd',
    '/reports/archive/../../tidemark.yaml',
    '/reports/archive/..%2f..%2fdata%2fx.json',
    '/reports/subjects/%2e%2e%2f%2e%2e%2fsecret.json',
    '/reports/..\\tidemark.yaml',
    '/reports//etc/passwd.txt',
    '/reports/.hidden.txt',
    '/reports/overview.html%00.txt',
    '/reports/linked.txt',
    '/reports/subjects/linked.txt',
    '/reports/folder.txt',
    '/reports/script.js',
  ])('%s is not found', async (path) => {
    await writeFile(join(folder, 'secret.json'), '{}');
    await writeFile(join(folder, 'out', '.hidden.txt'), 'hidden');
    await writeFile(join(folder, 'out', 'script.js'), 'alert(1)');
    await symlink(join(folder, 'tidemark.yaml'), join(folder, 'out', 'linked.txt')).catch(() => {});
    await cp(join(folder, 'out', 'archive'), join(folder, 'out', 'folder.txt'), { recursive: true });
    const { status, body } = await server.get(path);
    expect(status).toBe(404);
    expect(body).not.toContain('targets:');
  });
});

describe('names in the data', () => {
  const scriptSources = ['/assets/tables.js', '/assets/site.js'];

  test.each([
    '/tables/workspaces',
    `/tables/workspaces/row?target=acme&external_id=${HOSTILE_ID}`,
    `/saved/workspace-history?workspace=${HOSTILE_ID}`,
    `/saved/workspace-history?workspace=${encodeURIComponent(HOSTILE)}`,
    `/saved/${encodeURIComponent(HOSTILE)}`,
    `/tables/${encodeURIComponent(HOSTILE)}`,
    `/tables?as_of=${encodeURIComponent(HOSTILE)}`,
    `/tables?${encodeURIComponent(HOSTILE)}=${encodeURIComponent(HOSTILE)}`,
    `/${encodeURIComponent(HOSTILE)}`,
  ])('are text and nothing else on %s', async (path) => {
    const elements = await page(path);
    const scripts = elements.filter(({ tag }) => tag === 'script');
    expect(
      scripts.filter(({ attributes, text: code }) => code !== '' || !scriptSources.includes(attributes.src ?? '')),
    ).toEqual([]);
    expect(
      elements.filter(
        ({ tag, attributes }) => tag === 'img' || Object.keys(attributes).some((name) => name.startsWith('on')),
      ),
    ).toEqual([]);
  });

  test('are the same text in JSON and CSV as in the warehouse', async () => {
    const sql = `select workspace_name from workspaces where external_id = '${HOSTILE_ID}'`;
    expect(JSON.parse((await server.get(queryPath(sql, 'json'))).body)).toEqual([{ workspace_name: HOSTILE }]);
    expect((await server.get(queryPath(sql))).body).toBe(`workspace_name\n"${HOSTILE.replaceAll('"', '""')}"\n`);
  });
});

test('an address of 60,000 spaces keeps nobody waiting', async () => {
  const spaces = '+'.repeat(60_000);
  const start = performance.now();
  for (const [path, status] of [
    [`/nights?subject=${spaces}x`, 200],
    [`/tables/workspaces/row?target=acme&external_id=${spaces}x`, 404],
    [`/tables/workspaces?workspace_name__contains=${spaces}x`, 200],
    [`/reports/${'a'.repeat(60_000)}.html`, 404],
  ] as const) {
    expect((await server.get(path, HTML)).status, path.slice(0, 40)).toBe(status);
  }
  expect(performance.now() - start).toBeLessThan(30_000); // several minutes, where each space was read for each other
});

test('a new published file is noticed: by the next answer, and by the state that open pages ask for', async () => {
  const { change, get } = await changing();
  const count = async () => (await get(queryPath('select count(*) as n from runs'))).body;
  const state = async () => JSON.parse((await get('/state.json')).body) as { publishedAt: string };
  const before = await state();
  expect(await count()).toBe('n\n2\n');
  await change((database) => database.run('delete from runs'));
  expect(await count()).toBe('n\n0\n');
  expect((await state()).publishedAt > before.publishedAt).toBe(true);
});

test('errors are pages for a browser and text for others', async () => {
  const path = queryPath('select nonsense');
  const [forBrowser, forOthers] = await Promise.all([server.get(path, HTML), server.get(path)]);
  expect([forBrowser.status, forOthers.status]).toEqual([400, 400]);
  expect(forBrowser.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(forOthers.headers['content-type']).toBe('text/plain; charset=utf-8');
  expect(forOthers.body).toContain('nonsense');
  expect((await server.get('//[', HTML)).status).toBe(404);
});

test('a fault in a template is an error of the server, also where the page of errors has it', async () => {
  const other = await copyServedProject();
  await mkdir(join(other, 'reports', 'serve'), { recursive: true });
  await writeFile(join(other, 'reports', 'serve', 'tables.hbs'), '{{nothing here');
  const served = await startServe(other);
  const shown = await served.get('/tables', HTML);
  expect([shown.status, shown.headers['content-type']]).toEqual([500, 'text/html; charset=utf-8']);
  expect(shown.body).toContain('internal error');
  await writeFile(join(other, 'reports', 'serve', 'error.hbs'), '{{nothing here');
  const plain = await served.get('/tables', HTML);
  expect([plain.status, plain.body]).toEqual([500, 'internal error\n']);
});

test('others than this machine need the token, and the workers do not know it', async () => {
  const env = { TIDEMARK_SERVE_TOKEN: 'a-token-of-24-characters' };
  const other = await copyServedProject();
  const served = await startServe(other, ['--listen', '0.0.0.0'], { env });
  expect((await served.get('/tables')).status).toBe(401);
  const { status } = await served.get(queryPath('select 1'), { authorization: `Bearer ${env.TIDEMARK_SERVE_TOKEN}` });
  expect(status).toBe(200);
  const { readFileSync } = await import('node:fs');
  for (const pid of served.workers()) expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain('TOKEN');
});

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));
if (!hasIpv6) console.warn('skipped: an IPv6 address: this machine has none');

test.skipIf(!hasIpv6)('an IPv6 address may have the brackets of a URL', async () => {
  const served = await startServe(await copyServedProject(), ['--listen', '[::1]']);
  expect((await fetch(`${served.url}state.json`)).status).toBe(200);
});
