import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMailWarehouse } from '../../helpers/mail-warehouse.ts';
import { workspace } from '../../helpers/report-warehouse.ts';

const CHROMIUM = '/usr/bin/chromium';
const [FIRST, SECOND] = ['2026-11-18T02:15:00Z', '2026-11-19T02:15:00Z'] as const;
const LONG = 'payments-api-production-eu-central-1-with-a-name-that-does-not-end';

async function composeDigest(): Promise<string> {
  const warehouse = await createMailWarehouse();
  const drifting = (id: string) => workspace(id, { drifted: true, resources_drifted: 3 });
  await warehouse.pull(FIRST, { workspaces: [drifting('a'), drifting('b'), workspace(LONG)] });
  await warehouse.evaluate(FIRST);
  await warehouse.pull(SECOND, { workspaces: [drifting('a'), workspace('b'), drifting(LONG)] });
  await warehouse.evaluate(SECOND);
  await warehouse.database.run(`update findings set severity = 'critical' where subject_name = 'a'`);
  return (await warehouse.digest(SECOND)).html;
}

if (!existsSync(CHROMIUM)) console.warn(`skipped: the digest in a browser: ${CHROMIUM} is missing`);

describe.skipIf(!existsSync(CHROMIUM))('the digest in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  });
  afterAll(() => browser.close());

  test('fits every width, and has no violation of accessibility rules, in light and dark', async () => {
    const html = await composeDigest();
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [320, 390, 1200]) {
        const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
        await page.setContent(html);
        await page.addScriptTag({ content: axe.source });
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        const violations = await page.evaluate(
          `axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`,
        );
        expect([overflow, violations], `${colorScheme} at ${width}`).toEqual([0, []]);
        await page.close();
      }
    }
  });
});
