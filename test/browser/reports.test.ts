import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { type TestProject, testProject } from '../helpers/test-project.ts';

const CHROMIUM = '/usr/bin/chromium';
const NIGHTS = 5;
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
  for (let night = 1; night <= NIGHTS; night++) {
    const { exit, stderr } = await place.tidemark(['run', 'nightly']);
    if (exit !== 0) throw new Error(stderr);
    if (night < NIGHTS) place.sandbox.tick();
  }
}, 180_000);

describe("the reports of the sandbox's nights", () => {
  it.each(REPORTS)('%s reads as it always did', async (name) => {
    await expect(await readFile(out(`${name}.txt`), 'utf8')).toMatchFileSnapshot(`../golden/${name}.txt`);
  });

  it('count what they always counted', async () => {
    const summaries = await Promise.all(
      REPORTS.map(async (name) => [name, JSON.parse(await readFile(out(`${name}.json`), 'utf8')).summary] as const),
    );
    const text = `${JSON.stringify(Object.fromEntries(summaries), null, 2)}\n`;
    await expect(text).toMatchFileSnapshot('../golden/summaries.json');
  });

  it('have a page that is, byte for byte, what it always was', async () => {
    await expect(await readFile(out('certificates.html'), 'utf8')).toMatchFileSnapshot('../golden/certificates.html');
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

  /** Opens a report's page; whatever it complains of or asks for beyond itself is an error. */
  async function open(name: string, options: { dark?: boolean; width?: number } = {}) {
    const context = await browser.newContext({
      colorScheme: options.dark ? 'dark' : 'light',
      viewport: { width: options.width ?? 1200, height: 900 },
    });
    const page = await context.newPage();
    const complaints: string[] = [];
    const url = `file://${out(`${name}.html`)}`;
    page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (request.url() !== url) complaints.push(`asked for ${request.url()}`);
    });
    await page.goto(url);
    return { page, complaints, close: () => context.close() };
  }

  /** What axe-core finds, as `rule: element` lines; details are opened, so that nothing hides. */
  async function accessibilityFindings(page: Page): Promise<readonly string[]> {
    await page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })");
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
      'axe.run()',
    );
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
  }

  it.each(PAGES)('%s complains of nothing, asks for nothing, and bars nobody, in light and dark', async (name) => {
    for (const dark of [false, true]) {
      const { page, complaints, close } = await open(name, { dark });
      await page.screenshot({ path: join(SCREENSHOTS, `${name}-${dark ? 'dark' : 'light'}.png`), fullPage: true });
      expect(await accessibilityFindings(page)).toEqual([]);
      expect(complaints).toEqual([]);
      await close();
    }
  });

  it.each(PAGES)('%s can be read at the width of a phone', async (name) => {
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

  it('sorts a table by keyboard: up, then down, numbers by value, the sorted column told', async () => {
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

  it('filters a table by keyboard, and tells how many rows are left', async () => {
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

  it('leads from a number of a project to its rows', async () => {
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
