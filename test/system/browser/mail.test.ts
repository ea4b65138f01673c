import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inspectPage, launchBrowser, noBrowser, openOwnPage } from '../../helpers/browser.ts';
import { createMailWarehouse } from '../../helpers/mail-warehouse.ts';
import { workspace } from '../../helpers/report-warehouse.ts';
import { makeCritical } from '../../mail/digest-runs.ts';

const [FIRST, SECOND, THIRD] = ['2026-11-18T02:15:00Z', '2026-11-19T02:15:00Z', '2026-11-20T02:15:00Z'] as const;
const LONG = 'payments-api-production-eu-central-1-with-a-name-that-does-not-end';

async function composeDigest(): Promise<string> {
  const warehouse = await createMailWarehouse();
  const drifting = (id: string) => workspace(id, { drifted: true, resources_drifted: 3 });
  // In the end, findings are new, returned, resolved and deleted: the longest change of a number.
  await warehouse.pull(FIRST, { workspaces: [drifting('a'), drifting('b'), workspace(LONG)] });
  await warehouse.evaluate(FIRST);
  await warehouse.pull(SECOND, { workspaces: [drifting('a'), workspace('b'), drifting('c'), drifting('gone')] });
  await warehouse.evaluate(SECOND);
  await warehouse.pull(THIRD, { workspaces: [drifting('a'), drifting('b'), workspace('c'), drifting(LONG)] });
  await warehouse.evaluate(THIRD);
  await makeCritical(warehouse, ['a']);
  return (await warehouse.digest(THIRD)).html;
}

describe.skipIf(noBrowser !== undefined)('the digest in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  test('fits every width, and has no violation of accessibility rules, in light and dark', async () => {
    const page = await openOwnPage(browser);
    await page.setContent(await composeDigest());
    expect(await inspectPage(page, { widths: [1200, 390, 320] })).toEqual([]);
  });
});
