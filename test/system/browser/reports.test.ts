import { readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { inspectPage, noBrowser, openOwnPage, shareBrowser } from '../../helpers/browser.ts';
import { compareShownSql } from '../../helpers/shown-sql.ts';
import { cleanAtEnd } from '../../helpers/temp.ts';
import { type TestProject, testProject } from '../../helpers/test-project.ts';

const atEnd = cleanAtEnd();
const RUNS = 5;
const REPORTS = (parse(readFileSync(join(PACKAGE_ROOT, 'jobs', 'nightly.yaml'), 'utf8')) as { reports: string[] })
  .reports;
const PAGES = ['index', ...REPORTS];

let place: TestProject;
const out = (name: string) => join(place.folder, 'out', name);

beforeAll(async () => {
  place = await testProject({ workspaces: 80, cleanup: atEnd });
  // Reports of the last run show those before it.
  await mkdir(join(place.folder, 'jobs'));
  await writeFile(
    join(place.folder, 'jobs', 'without-reports.yaml'),
    'schedule: "15 2 * * *"\npull: all\nreports: []\n',
  );
  for (let run = 1; run <= RUNS; run++) {
    const { exit, stderr } = await place.tidemark(['run', run === RUNS ? 'nightly' : 'without-reports']);
    if (exit !== 0) throw new Error(stderr);
    if (run < RUNS) place.sandbox.tick();
  }
});

describe('the reports of five runs of the sandbox', () => {
  it.each(REPORTS)('%s has the expected text', async (name) => {
    await expect(await readFile(out(`${name}.txt`), 'utf8')).toMatchFileSnapshot(`../../golden/${name}.txt`);
  });

  it('have the expected summaries', async () => {
    const summaries = await Promise.all(
      REPORTS.map(async (name) => [name, JSON.parse(await readFile(out(`${name}.json`), 'utf8')).summary] as const),
    );
    const text = `${JSON.stringify(Object.fromEntries(summaries), null, 2)}\n`;
    await expect(text).toMatchFileSnapshot('../../golden/summaries.json');
  });

  // That of version-sprawl is run by test/reports/command.test.ts.
  it.each(REPORTS.filter((name) => name !== 'version-sprawl'))(
    '%s shows SQL that tidemark sql runs with the same rows',
    async (name) => {
      expect(await compareShownSql(place, name)).toBeGreaterThan(4);
    },
  );

  it('have the expected page', async () => {
    await expect(await readFile(out('certificates.html'), 'utf8')).toMatchFileSnapshot(
      '../../golden/certificates.html',
    );
  });
});

const SWATCHES = `[...document.querySelectorAll('.swatch')].map((swatch) => getComputedStyle(swatch).backgroundColor)`;

describe.skipIf(noBrowser !== undefined)('in a browser', () => {
  const { open: openPage, problems, browser } = shareBrowser((address, opened) => address === opened);
  const open = (name: string) => openPage(`file://${out(`${name}.html`)}`);

  it.each(PAGES)(
    '%s has no errors, requests or accessibility violations, in light and dark, and cuts nothing off at any width',
    async (name) => {
      const page = await open(name);
      expect(await inspectPage(page, { widths: [1280, 1440, 320, 390], pictures: name })).toEqual([]);
      expect(problems).toEqual([]);
    },
  );

  const visibleRows = (page: Page, table: string) =>
    page.$$eval(`#${table} tbody tr`, (rows) => rows.filter((row) => row.getClientRects().length > 0).length);

  it('shows 15 rows of a long table, all of them on request, also without its script', async () => {
    for (const javaScriptEnabled of [true, false]) {
      const page = await openOwnPage(browser(), { javaScriptEnabled });
      await page.goto(`file://${out('version-sprawl.html')}`);
      const all = await page.locator('#behind tbody tr').count();
      expect(all).toBeGreaterThan(30);
      expect(await page.locator('#behind tbody tr:visible').count()).toBe(15);
      await page.locator('#behind-all').focus();
      await page.keyboard.press('Space');
      expect(await page.locator('#behind tbody tr:visible').count()).toBe(all);
      await page.close();
    }
  });

  it('filters all rows of a long table, not only those shown', async () => {
    const page = await open('version-sprawl');
    const names = await column(page, 'behind', 1);
    const last = names.at(-1) ?? '';
    await page.locator('#behind input[type=search]').fill(last);
    expect(await visibleRows(page, 'behind')).toBe(names.filter((name) => name.includes(last)).length);
    await page.locator('#behind input[type=search]').fill('');
    expect(await visibleRows(page, 'behind')).toBe(15);
  });

  it('keeps the header of a long table in view', async () => {
    const page = await open('version-sprawl');
    await page.locator('#behind-all').focus();
    await page.keyboard.press('Space');
    const { top, box } = await page.$eval('#behind .scroll', (scroll) => {
      scroll.scrollTop = 500;
      const header = scroll.querySelector('thead th')?.getBoundingClientRect().top ?? -1;
      return { top: header, box: scroll.getBoundingClientRect().top };
    });
    expect(Math.abs(top - box)).toBeLessThan(2);
  });

  const column = (page: Page, table: string, index: number) =>
    page.$$eval(`#${table} tbody tr:not([hidden]) td:nth-child(${index})`, (cells) =>
      cells.map((cell) => cell.textContent ?? ''),
    );

  it('sorts a table by keyboard, ascending, then descending, and announces the sorted column', async () => {
    const page = await open('drift');
    const button = page.locator('#drifting thead th:nth-child(3) button');
    const numbers = async () => (await column(page, 'drifting', 3)).map(Number);
    await button.focus();
    await page.keyboard.press('Enter');
    const up = await numbers();
    expect(up.length).toBeGreaterThan(5);
    expect(up).toEqual([...up].sort((a, b) => a - b));
    expect(await page.locator('#drifting thead th:nth-child(3)').getAttribute('aria-sort')).toBe('ascending');
    await page.keyboard.press('Space');
    expect(await numbers()).toEqual([...up].sort((a, b) => b - a));
    expect(await page.locator('#drifting [aria-sort]').count()).toBe(1);
  });

  it('filters a table by keyboard, and announces the number of rows', async () => {
    const page = await open('drift');
    const all = await column(page, 'drifting', 1);
    const [name = ''] = all;
    await page.locator('#drifting input[type=search]').focus();
    await page.keyboard.type(name.toUpperCase());
    expect(await column(page, 'drifting', 1)).toEqual(all.filter((other) => other.includes(name)));
    expect(await page.locator('#drifting [role=status]').textContent()).toBe(`1 of ${all.length} rows`);
    await page.keyboard.press('Control+A');
    await page.keyboard.press('Delete');
    expect(await column(page, 'drifting', 1)).toEqual(all);
  });

  it('links a number of a project to its rows', async () => {
    const page = await open('drift');
    const link = page.locator('#by_project tbody tr:first-child a[data-filter]').first();
    const drifting = Number.parseInt((await link.textContent()) ?? '', 10);
    await link.focus();
    await page.keyboard.press('Enter');
    expect(page.url()).toContain('#drifting');
    expect((await column(page, 'drifting', 1)).length).toBe(drifting);
  });

  it('prints without controls, and every row', async () => {
    const page = await open('drift');
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('#drifting input').isVisible()).toBe(false);
    expect(await page.locator('nav').isVisible()).toBe(false);
    expect(await page.locator('#drifting tbody tr').last().isVisible()).toBe(true);
    await page.setViewportSize({ width: 700, height: 900 }); // a sheet of paper
    const name = await page.locator('#drifting tbody tr').first().locator('td, th').first().boundingBox();
    expect(name?.width).toBeGreaterThan(140);
  });

  it('prints the findings that a screen shows on demand', async () => {
    const page = await open('overview');
    const last = page.locator('.others .wrong').last();
    expect(await last.isVisible()).toBe(false);
    await page.emulateMedia({ media: 'print' });
    expect(await last.isVisible()).toBe(true);
  });

  it('keeps the colors of a legend where the system forces its own', async () => {
    const page = await open('drift');
    const colors = () => page.evaluate<readonly string[]>(SWATCHES);
    const own = await colors();
    expect(new Set(own).size).toBeGreaterThan(3);
    await page.emulateMedia({ forcedColors: 'active' });
    expect(await colors()).toEqual(own);
  });
});
