import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RenderOptions } from '../../src/tell/reports/index.ts';
import { renderReports } from '../../src/tell/reports/index.ts';
import { hasClass, type PageElement, parseElements } from '../helpers/html.ts';
import { createReportWarehouse, type ReportWarehouse, recordFinding, workspace } from '../helpers/report-warehouse.ts';
import { type Cleanup, share } from '../helpers/temp.ts';

const FIRST = '2026-11-01T02:15:00Z';
const SECOND = '2026-11-02T02:15:00Z';
const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "'; drop table workspaces; --",
  '=HYPERLINK("http://evil.example","x")',
  'two\nlines\u0000 and \u202eright to left',
  '{{summary}} {{{page}}}',
  'مشروع 測試 🚀',
];

const ESCAPED = ['&lt;script&gt;alert(1)&lt;/script&gt;', '&quot;&gt;&lt;img src'];

async function render(warehouse: ReportWarehouse, asOf: string, more: Partial<RenderOptions> = {}) {
  const options = warehouse.options(asOf, more);
  const rendered = await renderReports(options);
  const read = (name: string) => readFile(join(options.out, name), 'utf8');
  return { out: options.out, rendered, read };
}

async function hostileWarehouse(cleanup?: Cleanup): Promise<ReportWarehouse> {
  const warehouse = await createReportWarehouse(undefined, undefined, cleanup);
  const rows = (drifted: boolean) =>
    HOSTILE.map((name, index) =>
      workspace(`${index}`, {
        workspace_name: name,
        project_name: name,
        workspace_iac_version: name,
        current_run_status: name,
        drifted,
        resources_drifted: 1,
        checks_failed: 1,
      }),
    );
  const agents = HOSTILE.map((name, index) => ({
    agent_id: name,
    pool_id: 'p',
    name,
    status: name,
    ip_address: name,
    last_ping_at: `2026-11-01T0${index}:00:00Z`,
  }));
  await warehouse.pull(FIRST, {
    workspaces: rows(false),
    agent_pools: [{ pool_id: 'p', name: HOSTILE[0] }],
    agents,
    keys: [],
  });
  await warehouse.pull(SECOND, {
    workspaces: rows(true),
    agent_pools: [{ pool_id: 'p', name: HOSTILE[1] }],
    agents,
    keys: 'failed',
  });
  // At the head of the pages: a title of its own, and subjects that a note lists.
  const found = [{ at: SECOND, state: 'new', reason: 'found' }];
  await recordFinding(warehouse, HOSTILE[0]!, 'failing-checks', found);
  for (const name of HOSTILE.slice(1, 3)) await recordFinding(warehouse, name, 'drifted-workspace', found);
  return warehouse;
}

/** All reports of the warehouse with hostile names, and the elements of their pages. */
const hostile = share(async (cleanup) => {
  const warehouse = await hostileWarehouse(cleanup);
  const reports = await render(warehouse, SECOND, { out: join(warehouse.directory, 'one') });
  const parsed = new Map<string, readonly PageElement[]>();
  for (const { name } of reports.rendered) parsed.set(name, parseElements(await reports.read(`${name}.html`)));
  const elements = (name: string) => parsed.get(name) ?? [];
  return { warehouse, ...reports, elements };
});

describe('report pages', () => {
  it('are identical for the same input', async () => {
    const { warehouse, ...one } = await hostile();
    const other = await render(warehouse, SECOND, { out: join(warehouse.directory, 'other') });
    const files = (await readdir(one.out, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    expect(files.length).toBeGreaterThan(24);
    for (const { name, parentPath } of files) {
      const path = join(parentPath, name);
      expect(await readFile(path, 'utf8'), path).toBe(await readFile(path.replace(one.out, other.out), 'utf8'));
    }
  });

  it('show hostile names as text: data creates no element, attribute or control character', async () => {
    const { rendered, read, elements: parsed } = await hostile();
    for (const { name } of rendered) {
      const html = await read(`${name}.html`);
      const elements = parsed(name);
      const tags = elements.map(({ tag }) => tag);
      expect(tags.filter((tag) => ['img', 'iframe', 'object', 'base', 'link'].includes(tag))).toEqual([]);
      expect(tags.filter((tag) => tag === 'script')).toHaveLength(1);
      const attributes = elements.flatMap((element) => Object.keys(element.attributes));
      expect(attributes.filter((attribute) => attribute.startsWith('on'))).toEqual([]);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the page must not contain them
      expect(html).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u202a-\u202e]/u);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the page must not contain them
      expect(await read(`${name}.txt`)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202a-\u202e]/u);
    }
    expect(await read('drift.html')).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(await read('check-failure.html')).toContain(`<bdi>Title of ${ESCAPED[0]}</bdi>`);
    expect(await read('drift.html')).toMatch(new RegExp(`<p class="who">.*<bdi>${ESCAPED[1]}`, 'u'));
    expect(
      JSON.parse(await read('drift.json'))
        .drifting.map((row: { workspace_name: string }) => row.workspace_name)
        .sort(),
    ).toEqual([...HOSTILE].sort());
  });

  it('have a policy that allows only their own style and script', async () => {
    const { rendered, read } = await hostile();
    const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
    for (const name of [...rendered.map((report) => report.name), 'index']) {
      const html = await read(`${name}.html`);
      const meta = parseElements(html).find(({ attributes }) => attributes['http-equiv'] === 'Content-Security-Policy');
      const policy = meta?.attributes.content ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain(`style-src ${hashOf(/<style>([\s\S]*?)<\/style>/u.exec(html)?.[1] ?? '')}`);
      expect(policy).toContain(`script-src ${hashOf(/<script>([\s\S]*?)<\/script>/u.exec(html)?.[1] ?? '')}`);
      expect(html).not.toMatch(/\sstyle="/u);
    }
  });

  it('link every number to rows on the page, and show the SQL of every dataset', async () => {
    const { rendered, elements: parsed, out, read } = await hostile();
    for (const { name } of rendered) {
      const elements = parsed(name);
      const ids = elements.flatMap(({ attributes }) => attributes.id ?? []);
      expect(new Set(ids).size).toBe(ids.length);
      for (const href of elements.flatMap(({ tag, attributes }) => (tag === 'a' ? (attributes.href ?? []) : []))) {
        const known = href.startsWith('#') ? ids.includes(href.slice(1)) : existsSync(join(out, href));
        expect(known, `${name}: ${href}`).toBe(true);
      }
      const figures = elements.filter((element) => hasClass(element, 'figure'));
      expect(figures.filter(({ descendants }) => descendants.every(({ tag }) => tag !== 'a'))).toEqual([]);
      const details = elements.filter((element) => element.tag === 'details' && hasClass(element, 'sql'));
      const shown = details.flatMap(({ descendants }) => descendants.filter(({ tag }) => tag === 'code'));
      expect(shown.length).toBeGreaterThan(Object.keys(JSON.parse(await read(`${name}.json`))).length - 9);
    }
  });

  it('do not link to reports that are not rendered', async () => {
    const { warehouse } = await hostile();
    const out = join(warehouse.directory, 'two');
    const { read } = await render(warehouse, SECOND, { out, names: ['overview', 'drift'], subjectPages: 0 });
    const pages = [...(await read('overview.html')).matchAll(/href="([^"#]+)"/gu)].map(([, href]) => href);
    expect(pages).toContain('drift.html');
    const reports = pages.filter((href) => !/^(?:subjects|runs\/)/u.test(href ?? ''));
    expect(reports.filter((href) => !['drift.html', 'overview.html', 'index.html'].includes(href ?? ''))).toEqual([]);
  });

  it('name stale sources, and mark the numbers based on them', async () => {
    const { read, elements: parsed } = await hostile();
    const elements = parsed('keys');
    const banner = elements.find((element) => hasClass(element, 'banner'))?.text ?? '';
    expect(banner).toContain('acme: keys');
    expect(banner).toContain('as of 2026-11-01 02:15, 24 hours old; last pull failed: the service answered 502');
    expect(elements.find((element) => hasClass(element, 'figure', 'stale'))?.text).toContain('†');
    expect(await read('keys.txt')).toContain(
      'STALE: acme: keys: as of 2026-11-01 02:15, 24 hours old; last pull failed',
    );
    expect(await read('drift.html')).not.toContain('class="banner"');
    expect(await read('overview.html')).toContain('class="banner"');
    expect(await read('overview.html')).not.toContain('class="figure stale"'); // no figure counts keys
    const index = await read('index.html');
    expect(index).toContain('Based on stale data: acme: keys.');
    const text = (id: string) =>
      parseElements(index).find(({ tag, attributes }) => tag === 'section' && attributes['aria-labelledby'] === id)
        ?.text;
    expect(text('page-targets')).toMatch(/acme\s*stale\s*3 of 4\s*2026-11-01 02:15\s*keys\s*the service answered 502/u);
    expect(text('page-runs')).toMatch(/run-2[^\n]*3 of 4acme: keys failed/u);
  });

  it('mark a complete source as stale after staleHours', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { workspaces: [workspace('a')] });
    const sourcesAt = async (stalenessAt: string) =>
      (await warehouse.data('drift', FIRST, [], { stalenessAt: new Date(stalenessAt) })).sources;
    expect(await sourcesAt('2026-11-02T14:15:00Z')).toMatchObject([{ status: 'complete', stale: false }]);
    expect(await sourcesAt('2026-11-02T14:15:01Z')).toMatchObject([{ status: 'complete', stale: true }]);
  });

  it('cut long tables and write all rows as CSV, until the tables are short again', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(FIRST, { workspaces: [workspace('w', { drifted: true, workspace_name: '=w0' })] });
    await warehouse.database.run(
      `insert into workspaces_history by name select * exclude (n) replace (external_id || n as external_id, '=w' || n as workspace_name)
       from workspaces_history cross join range(1, 5030) as more (n)`,
    );
    const onlyDrift = { names: ['drift'], subjectPages: 1 };
    const { read, out } = await render(warehouse, FIRST, onlyDrift);
    // Too many elements to parse in a moment.
    const [section = ''] = /<section[^>]* id="drifting"[\s\S]*?<\/section>/u.exec(await read('drift.html')) ?? [];
    const [body = ''] = /<tbody>[\s\S]*<\/tbody>/u.exec(section) ?? [];
    expect(body.match(/<tr[ >]/gu)).toHaveLength(5000);
    expect(section).toContain('This page has the first 5,000 of 5,030 rows.');
    const csv = await read('drift.drifting.csv');
    expect(csv.trim().split('\r\n').length).toBe(5031);
    expect(csv).toContain(',"\'=w0",');
    await warehouse.database.run("delete from workspaces_history where workspace_name <> '=w0'");
    await render(warehouse, FIRST, onlyDrift);
    expect(await readdir(out)).not.toContain('drift.drifting.csv');
  });
});
