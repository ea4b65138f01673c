import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';

const CHROMIUM = '/usr/bin/chromium';
const SCREENSHOTS = join(PACKAGE_ROOT, 'test', 'screenshots');
const HEIGHT = 900;
/** The rules of axe-core whose result depends on colors. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];

/** Why there is no browser here. */
export const noBrowser = existsSync(CHROMIUM) ? undefined : `no browser at ${CHROMIUM}`;
if (noBrowser !== undefined) console.warn(`skipped: the tests in a browser: ${noBrowser}`);

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
}

export interface Inspection {
  /** In pixels. Pictures and accessibility are of the first and the last one. */
  readonly widths?: readonly number[];
  /** Saves pictures under names that begin with this, where `TIDEMARK_PICTURES` is set: they take as long as the rest. */
  readonly pictures?: string;
  /** Rules of axe-core that do not apply. */
  readonly withoutRules?: readonly string[];
}

/**
 * Looks at an open page at every width, in light and dark, with all details open. Returns what is wrong: content that is cut off,
 * and violations of the rules of axe-core. In dark, its rules for colors run, at the first width, since nothing else differs.
 */
export async function inspectPage(page: Page, options: Inspection = {}): Promise<readonly string[]> {
  const { widths = [1280, 390], pictures, withoutRules = [] } = options;
  const found: string[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: HEIGHT });
    for (const element of await page.evaluate<readonly string[]>(FIND_CUT_OFF)) found.push(`${width}: ${element}`);
  }
  const views = [widths[0]!, widths.at(-1)!].flatMap((width) =>
    (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })),
  );
  const show = async ({ width, colorScheme }: (typeof views)[number]) => {
    await page.setViewportSize({ width, height: HEIGHT });
    await page.emulateMedia({ colorScheme });
    return `${width}-${colorScheme}`;
  };
  if (pictures !== undefined && process.env.TIDEMARK_PICTURES) {
    await mkdir(SCREENSHOTS, { recursive: true });
    for (const view of views) {
      const name = await show(view);
      await page.screenshot({ path: join(SCREENSHOTS, `${pictures}-${name}.png`), fullPage: true });
    }
  }
  await page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })");
  await page.evaluate(axe.source);
  for (const view of views.filter(({ width, colorScheme }) => colorScheme === 'light' || width === widths[0])) {
    const name = await show(view);
    const rules = Object.fromEntries(withoutRules.map((rule) => [rule, { enabled: false }]));
    const runOnly = view.colorScheme === 'dark' ? { runOnly: COLOR_RULES } : {};
    for (const violation of await findViolations(page, { rules, ...runOnly })) found.push(`${name}: ${violation}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  return found;
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

/** The violations that axe-core reports, as `rule: element`. */
async function findViolations(page: Page, options: object): Promise<readonly string[]> {
  const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
    `axe.run(${JSON.stringify({ ...VIOLATIONS_ALONE, ...options })})`,
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
}
