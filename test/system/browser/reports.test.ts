import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { type TestProject, testProject } from '../../helpers/test-project.ts';

const CHROMIUM = '/usr/bin/chromium';
const RUNS = 5;
const REPORTS = [
  'overview',
  'drift',
  'check-failure',
  'version-sprawl',
  'agent-health',
  'storage',
  'keys',
  'certificates',
];
const PAGES = ['index', ...REPORTS];
const SCREENSHOTS = join(PACKAGE_ROOT, 'test', 'screenshots');

let place: TestProject;
const out = (name: string) => join(place.folder, 'out', name);

beforeAll(async () => {
  place = await testProject({ workspaces: 80, cleanup: afterAll });
  for (let run = 1; run <= RUNS; run++) {
    const { exit, stderr } = await place.tidemark(['run', 'nightly']);
    if (exit !== 0) throw new Error(stderr);
    if (run < RUNS) place.sandbox.tick();
  }
}, 180_000);

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

  it('have the expected page', async () => {
    await expect(await readFile(out('certificates.html'), 'utf8')).toMatchFileSnapshot(
      '../../golden/certificates.html',
    );
  });
});

const found = existsSync(CHROMIUM);
if (!found) console.warn(`no browser at ${CHROMIUM}: the tests in a browser are skipped`);

describe.skipIf(!found)('in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    await mkdir(SCREENSHOTS, { recursive: true });
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  });
  afterAll(() => browser.close());

  /** Opens a report's page, and records console messages, errors and requests. */
  async function open(name: string, options: { dark?: boolean; width?: number } = {}) {
    const context = await browser.newContext({
      colorScheme: options.dark ? 'dark' : 'light',
      viewport: { width: options.width ?? 1200, height: 900 },
    });
    const page = await context.newPage();
    const problems: string[] = [];
    const url = `file://${out(`${name}.html`)}`;
    page.on('console', (message) => problems.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('request', (request) => {
      if (request.url() !== url) problems.push(`requested ${request.url()}`);
    });
    await page.goto(url);
    return { page, problems, close: () => context.close() };
  }

  /** The violations that axe-core reports, as `rule: element`. All details are open. */
  async function accessibilityFindings(page: Page): Promise<readonly string[]> {
    await page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })");
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
      'axe.run()',
    );
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
  }

  it.each(PAGES)('%s has no errors, requests or accessibility violations, in light and dark', async (name) => {
    for (const dark of [false, true]) {
      const { page, problems, close } = await open(name, { dark });
      await page.screenshot({ path: join(SCREENSHOTS, `${name}-${dark ? 'dark' : 'light'}.png`), fullPage: true });
      expect(await accessibilityFindings(page)).toEqual([]);
      expect(problems).toEqual([]);
      await close();
    }
  });

  it.each(PAGES)('%s fits the width of a phone', async (name) => {
    const { page, close } = await open(name, { width: 360 });
    await page.screenshot({ path: join(SCREENSHOTS, `${name}-phone.png`), fullPage: true });
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    expect(overflow).toBeLessThanOrEqual(0);
    await close();
  });

  const column = (page: Page, table: string, index: number) =>
    page.$$eval(`#${table} tbody tr:not([hidden]) td:nth-child(${index})`, (cells) =>
      cells.map((cell) => cell.textContent ?? ''),
    );

  it('sorts a table by keyboard, ascending, then descending, and announces the sorted column', async () => {
    const { page, close } = await open('drift');
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
    await close();
  });

  it('filters a table by keyboard, and announces the number of rows', async () => {
    const { page, close } = await open('drift');
    const all = await column(page, 'drifting', 1);
    const [name = ''] = all;
    await page.locator('#drifting input[type=search]').focus();
    await page.keyboard.type(name.toUpperCase());
    expect(await column(page, 'drifting', 1)).toEqual(all.filter((other) => other.includes(name)));
    expect(await page.locator('#drifting [role=status]').textContent()).toBe(`1 of ${all.length} rows`);
    await page.keyboard.press('Control+A');
    await page.keyboard.press('Delete');
    expect(await column(page, 'drifting', 1)).toEqual(all);
    await close();
  });

  it('links a number of a project to its rows', async () => {
    const { page, close } = await open('drift');
    const link = page.locator('#by_project tbody tr:first-child a').first();
    const drifting = Number(await link.textContent());
    await link.focus();
    await page.keyboard.press('Enter');
    expect(page.url()).toContain('#drifting');
    expect((await column(page, 'drifting', 1)).length).toBe(drifting);
    await close();
  });

  it('prints without controls, and every row', async () => {
    const { page, close } = await open('drift');
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('#drifting input').isVisible()).toBe(false);
    expect(await page.locator('#drifting tbody tr').last().isVisible()).toBe(true);
    await page.screenshot({ path: join(SCREENSHOTS, 'drift-print.png'), fullPage: true });
    await close();
  });
});
