import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { beforeAll } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { cleanAtEnd } from './temp.ts';
import { PATIENCE } from './until.ts';

const CHROMIUM = '/usr/bin/chromium';
const SCREENSHOTS = join(PACKAGE_ROOT, 'test', 'screenshots');
const HEIGHT = 900;
const SCREEN = { width: 1280, height: HEIGHT };

/** Why there is no browser here. */
export const noBrowser = existsSync(CHROMIUM) ? undefined : `no browser at ${CHROMIUM}`;
if (noBrowser !== undefined) console.warn(`skipped: the tests in a browser: ${noBrowser}`);

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'], timeout: PATIENCE.timeout });
}

/** Opens a page that waits as long as a test may take. Other than the shared one, a test closes its own. */
export async function openOwnPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await browser.newPage(options);
  page.setDefaultTimeout(PATIENCE.timeout);
  return page;
}

/** What the tests of a file look at with one browser. */
export interface SharedBrowser {
  /** Opens an address on a screen, in light, in the page that all tests share: a page of its own takes longer than most tests. */
  open(address: string): Promise<Page>;
  /** What the page has reported since it was opened: messages on its console, exceptions, and requests that are not `own`. */
  readonly problems: readonly string[];
  /** For a page with other settings: see `openOwnPage`. */
  browser(): Browser;
}

/** Call it outside of tests. @param isOwn whether a page may ask for an address @param isExpected whether a message is no problem */
export function shareBrowser(
  isOwn: (address: string, opened: string) => boolean,
  isExpected: (message: string) => boolean = () => false,
): SharedBrowser {
  const atEnd = cleanAtEnd();
  const problems: string[] = [];
  let browser: Browser;
  let page: Page;
  let opened = '';
  beforeAll(async () => {
    browser = await launchBrowser();
    atEnd(() => browser.close());
    page = await openOwnPage(browser);
    page.on('console', (message) => {
      if (!isExpected(message.text())) problems.push(`${message.type()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('request', (request) => {
      if (!isOwn(request.url(), opened)) problems.push(`requested ${request.url()}`);
    });
  });
  return {
    problems,
    browser: () => browser,
    open: async (address) => {
      opened = address;
      // An address that differs in its hash alone would not be loaded again.
      if (withoutHash(page.url()) === withoutHash(address)) await page.goto('about:blank');
      await page.setViewportSize(SCREEN);
      await page.emulateMedia({ colorScheme: 'light', media: 'screen', forcedColors: 'none' });
      problems.length = 0;
      await page.goto(address);
      return page;
    },
  };
}

const withoutHash = (address: string) => address.replace(/#.*$/u, '');

export interface Inspection {
  /** In pixels. Pictures and accessibility are of the first and the last one. */
  readonly widths?: readonly number[];
  /** Saves pictures of every view under names that begin with this, where `TIDEMARK_PICTURES` is set: they take as long as the rest. */
  readonly pictures?: string;
  /** Rules of axe-core that do not apply. */
  readonly withoutRules?: readonly string[];
}

/**
 * Looks at an open page at every width, with all details open. Returns what is wrong: content that is cut off, and violations of the
 * rules of axe-core. These are of the first width in light and of the last one in dark, so that each width and each theme is seen;
 * with `TIDEMARK_PICTURES`, they are of each width in both.
 */
export async function inspectPage(page: Page, options: Inspection = {}): Promise<readonly string[]> {
  const { widths = [1280, 390], pictures, withoutRules = [] } = options;
  const found: string[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: HEIGHT });
    for (const element of await page.evaluate<readonly string[]>(FIND_CUT_OFF)) found.push(`${width}: ${element}`);
  }
  const [first, last] = [widths[0]!, widths.at(-1)!];
  const isThorough = Boolean(process.env.TIDEMARK_PICTURES);
  const views: readonly View[] = isThorough
    ? [first, last].flatMap((width) => (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })))
    : [
        { width: first, colorScheme: 'light' },
        { width: last, colorScheme: 'dark' },
      ];
  if (pictures !== undefined && isThorough) {
    await mkdir(SCREENSHOTS, { recursive: true });
    for (const view of views) {
      const name = await show(page, view);
      await page.screenshot({ path: join(SCREENSHOTS, `${pictures}-${name}.png`), fullPage: true });
    }
  }
  await page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })");
  await page.evaluate(axe.source);
  const left = Object.fromEntries(withoutRules.map((rule) => [rule, { enabled: false }]));
  const rules = { 'target-size': { enabled: true }, ...left }; // WCAG 2.2: axe-core has it off
  for (const view of views) {
    const name = await show(page, view);
    for (const violation of await findViolations(page, { rules })) found.push(`${name}: ${violation}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  return found;
}

interface View {
  readonly width: number;
  readonly colorScheme: 'light' | 'dark';
}

/** @returns the name of the view */
async function show(page: Page, { width, colorScheme }: View): Promise<string> {
  await page.setViewportSize({ width, height: HEIGHT });
  await page.emulateMedia({ colorScheme });
  return `${width}-${colorScheme}`;
}

/** Elements whose content is wider than they are, outside the containers that scroll; or the page itself. */
const FIND_CUT_OFF = `(() => {
  const isShown = (element) => getComputedStyle(element).display !== 'inline' && element.clientWidth > 0;
  const elements = [...document.querySelectorAll('body *')]
    .filter((element) => !element.closest('.scroll, pre, svg, .hidden, .skip, .cm-editor') && element.scrollWidth > element.clientWidth + 1)
    .filter(isShown)
    .map((element) => 'cut off: ' + element.outerHTML.slice(0, 120));
  const overflow = document.documentElement.scrollWidth - innerWidth;
  return overflow > 0 ? ['wider than the screen by ' + overflow, ...elements] : elements;
})()`;

/** Only what `findViolations` reads: axe-core describes every element that passes a rule otherwise. */
const VIOLATIONS_ALONE = { resultTypes: ['violations'], selectors: false, preload: false };

/** The violations that axe-core reports, as `rule: element`. The page has `axe.source`. */
export async function findViolations(page: Page, options: object = {}): Promise<readonly string[]> {
  const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
    `axe.run(${JSON.stringify({ ...VIOLATIONS_ALONE, ...options })})`,
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
}
