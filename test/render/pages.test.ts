import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseHTML } from 'linkedom';
import { describe, expect, it } from 'vitest';
import type { RenderOptions } from '../../src/render/index.ts';
import { renderReports } from '../../src/render/index.ts';
import { type Estate, openEstate, workspace } from '../helpers/report-estate.ts';

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

async function render(estate: Estate, asOf: string, more: Partial<RenderOptions> = {}) {
  const options = estate.options(asOf, more);
  const rendered = await renderReports(options);
  const read = (name: string) => readFile(join(options.out, name), 'utf8');
  return { out: options.out, rendered, read };
}

async function hostileEstate(): Promise<Estate> {
  const estate = await openEstate();
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
  await estate.night(FIRST, {
    workspaces: rows(false),
    agent_pools: [{ pool_id: 'p', name: HOSTILE[0] }],
    agents,
    keys: [],
  });
  await estate.night(SECOND, {
    workspaces: rows(true),
    agent_pools: [{ pool_id: 'p', name: HOSTILE[1] }],
    agents,
    keys: 'failed',
  });
  return estate;
}

describe('pages', () => {
  it('are the same bytes for the same input', async () => {
    const estate = await hostileEstate();
    const one = await render(estate, SECOND, { out: join(estate.directory, 'one') });
    const other = await render(estate, SECOND, { out: join(estate.directory, 'other') });
    const files = (await readdir(one.out, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    expect(files.length).toBeGreaterThan(24);
    for (const { name, parentPath } of files) {
      const path = join(parentPath, name);
      expect(await readFile(path, 'utf8')).toBe(await readFile(path.replace(one.out, other.out), 'utf8'));
    }
  });

  it('show hostile names as text: no element, attribute or control character comes from data', async () => {
    const { rendered, read } = await render(await hostileEstate(), SECOND);
    for (const { name } of rendered) {
      const html = await read(`${name}.html`);
      const { document } = parseHTML(html);
      expect(document.querySelectorAll('img, iframe, object, base, link').length).toBe(0);
      expect(document.querySelectorAll('script').length).toBe(1);
      const handlers = [...document.querySelectorAll('*')]
        .flatMap((element) => [...element.attributes])
        .filter(({ name: n }) => n.startsWith('on'));
      expect(handlers).toEqual([]);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(html).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u202a-\u202e]/u);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(await read(`${name}.txt`)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202a-\u202e]/u);
    }
    expect(await read('drift.html')).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(
      JSON.parse(await read('drift.json'))
        .drifting.map((row: { workspace_name: string }) => row.workspace_name)
        .sort(),
    ).toEqual([...HOSTILE].sort());
  });

  it('allow nothing by their policy but their own style and script', async () => {
    const { rendered, read } = await render(await hostileEstate(), SECOND);
    const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
    for (const name of [...rendered.map((report) => report.name), 'index']) {
      const { document } = parseHTML(await read(`${name}.html`));
      const policy =
        document.querySelector('meta[http-equiv="Content-Security-Policy"]')?.getAttribute('content') ?? '';
      expect(policy).toContain("default-src 'none'");
      const html = await read(`${name}.html`);
      expect(policy).toContain(`style-src ${hashOf(/<style>([\s\S]*?)<\/style>/u.exec(html)?.[1] ?? '')}`);
      expect(policy).toContain(`script-src ${hashOf(/<script>([\s\S]*?)<\/script>/u.exec(html)?.[1] ?? '')}`);
      expect(html).not.toMatch(/\sstyle="/u);
    }
  });

  it('link every number to rows that are on the page, and show the SQL of every dataset', async () => {
    const { rendered, read } = await render(await hostileEstate(), SECOND);
    const pages = new Set(rendered.map(({ name }) => `${name}.html`));
    for (const { name, data } of rendered) {
      const { document } = parseHTML(await read(`${name}.html`));
      const ids = new Set([...document.querySelectorAll('[id]')].map(({ id }) => id));
      expect(ids.size).toBe(document.querySelectorAll('[id]').length);
      for (const link of document.querySelectorAll('a[href]')) {
        const href = link.getAttribute('href') ?? '';
        const known = href.startsWith('#')
          ? ids.has(href.slice(1))
          : pages.has(href) || href === 'index.html' || href.endsWith('.csv');
        expect(known, `${name}: ${href}`).toBe(true);
      }
      const figures = [...document.querySelectorAll('.figure')];
      expect(figures.length).toBeGreaterThan(3);
      expect(figures.filter((figure) => !figure.querySelector('a'))).toEqual([]);
      const shown = document.querySelectorAll('details.sql code').length;
      expect(shown).toBeGreaterThan(Object.keys(data).length - 6);
    }
  });

  it('link to no report that is not written with them', async () => {
    const estate = await hostileEstate();
    const { read } = await render(estate, SECOND, { names: ['overview', 'drift'] });
    const pages = [...(await read('overview.html')).matchAll(/href="([^"#]+)"/gu)].map(([, href]) => href);
    expect(pages).toContain('drift.html');
    expect(pages.filter((href) => !['drift.html', 'index.html'].includes(href ?? ''))).toEqual([]);
  });

  it('say plainly which source is stale, and mark the numbers that rest on it', async () => {
    const estate = await hostileEstate();
    const { read } = await render(estate, SECOND);
    const { document } = parseHTML(await read('keys.html'));
    const banner = document.querySelector('.banner')?.textContent ?? '';
    expect(banner).toContain('acme: keys');
    expect(banner).toContain('as of 2026-11-01 02:15, 24 hours old; last pull failed: the service answered 502');
    expect(document.querySelector('.figure.stale b')?.textContent).toContain('†');
    expect(await read('keys.txt')).toContain(
      'STALE: acme: keys: as of 2026-11-01 02:15, 24 hours old; last pull failed',
    );
    expect(await read('drift.html')).not.toContain('class="banner"');
    expect(await read('overview.html')).toContain('class="banner"');
    expect(await read('overview.html')).not.toContain('class="figure stale"'); // none of them counts keys
    expect(await read('index.html')).toContain('rests on stale data');
  });

  it('call a source stale that is complete but old, by staleHours', async () => {
    const estate = await openEstate();
    await estate.night(FIRST, { workspaces: [workspace('a')] });
    const sourcesAt = async (freshAt: string) =>
      (await estate.data('drift', FIRST, { freshAt: new Date(freshAt) })).sources;
    expect(await sourcesAt('2026-11-02T14:15:00Z')).toMatchObject([{ status: 'complete', stale: false }]);
    expect(await sourcesAt('2026-11-02T14:15:01Z')).toMatchObject([{ status: 'complete', stale: true }]);
  });

  it('cut long tables at a stated number, with the whole beside them as CSV, until they are short again', async () => {
    const estate = await openEstate();
    const many = Array.from({ length: 230 }, (_, index) =>
      workspace(`w${index}`, { drifted: true, workspace_name: `=w${index}` }),
    );
    await estate.night(FIRST, { workspaces: many });
    const { read, out } = await render(estate, FIRST, { names: ['drift'] });
    const { document } = parseHTML(await read('drift.html'));
    expect(document.querySelectorAll('#drifting tbody tr').length).toBe(200);
    expect(document.querySelector('#drifting .cut')?.textContent).toContain('The first 200 of 230 rows');
    const csv = await read('drift.drifting.csv');
    expect(csv.trim().split('\r\n').length).toBe(231);
    expect(csv).toContain(',"\'=w0",');
    await estate.night(SECOND, { workspaces: many.slice(0, 3) });
    await render(estate, SECOND, { names: ['drift'] });
    expect(await readdir(out)).not.toContain('drift.drifting.csv');
  });
});
