import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { inspectPage, noBrowser, openOwnPage, shareBrowser } from '../../helpers/browser.ts';
import { changePublished } from '../../helpers/change-warehouse.ts';
import { copyServedProject, HOSTILE_ID, queryPath, type Served, startServe } from '../../helpers/served.ts';
import { cleanAtEnd } from '../../helpers/temp.ts';

const atEnd = cleanAtEnd();
const ROW = `tables/workspaces/row?target=acme&external_id=${HOSTILE_ID}`;
const PAGES = [
  ['home', ''],
  ['reports', 'reports'],
  ['tables', 'tables'],
  ['table', 'tables/workspaces'],
  ['filtered', 'tables/findings?severity__exact=critical&_sort_desc=first_seen'],
  ['view', 'tables/certificates'],
  ['row', ROW],
  ['saved', 'saved'],
  ['saved-query', 'saved/changes'],
  ['past', 'tables?as_of=today'],
  ['nights', 'nights'],
  ['run', 'runs/LAST'],
  ['report', 'reports/drift.html'],
  ['subjects', 'reports/subjects.html'],
  ['missing', 'nope'],
] as const;

/** Tables that are wider than the screen, and cells that are wider than their column. */
const FIND_SCROLLING = `[...document.querySelectorAll('.scroll, .scroll td')]
  .filter((element) => element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0)
  .map((element) => element.outerHTML.slice(0, 120))`;

describe.skipIf(noBrowser !== undefined)('the pages of serve, in a browser', () => {
  let folder: string;
  let served: Served;
  let page: Page;
  let run: string;
  /** Violations of the policy, exceptions, requests elsewhere, answers that are no success. */
  const shared = shareBrowser(
    (address) => address.startsWith(served.url),
    (message) => message.includes('status of 404'),
  );
  const { problems } = shared;

  beforeAll(async () => {
    folder = await copyServedProject(atEnd);
    served = await startServe(folder, [], { cleanup: atEnd });
    run = (await served.get(queryPath('select max(run_id) as id from runs'))).body.split('\n')[1] ?? '';
  });

  async function open(path: string) {
    page = await shared.open(`${served.url}${path.replace('LAST', run)}`);
  }

  it.each(PAGES)(
    '%s has no errors and no accessibility violations, and nothing is cut off, in light and dark, on a screen and a phone',
    async (name, path) => {
      await open(path);
      expect(await inspectPage(page, { pictures: `serve-${name}` })).toEqual([]);
      expect(await page.evaluate(FIND_SCROLLING)).toEqual([]); // at the width of a phone
      expect(problems).toEqual([]);
    },
  );

  it('runs no script from a name in the data', async () => {
    for (const path of ['tables/workspaces', ROW, `saved/workspace-history?workspace=${HOSTILE_ID}`]) {
      await open(path);
      expect(await page.locator('body').textContent()).toContain('<script>');
      expect(await page.title()).not.toBe('owned');
      expect(problems).toEqual([]);
    }
  });

  it('runs no script of an answer with data, opened or embedded', async () => {
    const sql = `select '</script><script>document.title=''owned''</script>' as x`;
    await open(queryPath(sql, 'json').slice(1));
    expect(await page.title()).not.toBe('owned');
  });

  /** Tab until the focused element has this text or name. Each element on the way shows its focus. */
  async function tabTo(name: string): Promise<void> {
    for (let step = 0; step < 60; step++) {
      await page.keyboard.press('Tab');
      const focused = await page.evaluate<{ text: string; name: string; type: string; outline: string }>(
        '({text: document.activeElement.textContent.trim(), name: document.activeElement.name ?? "", type: document.activeElement.type ?? "", outline: getComputedStyle(document.activeElement).outlineStyle})',
      );
      // the parts of a field for a time have a focus of their own
      if (focused.type !== 'datetime-local') expect(focused.outline, focused.text).not.toBe('none');
      if (focused.text === name || focused.name === name) return;
    }
    throw new Error(`the keyboard does not reach ${name}`);
  }

  it('leads with the keyboard alone from the home page to the history of a row, and back in time', async () => {
    await open('');
    await tabTo('Skip to the page');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('page-main');
    await tabTo('Tables');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/tables');
    await tabTo('agents');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/tables/agents');
    const link = page.locator('#rows tbody a').first();
    const id = (await link.textContent()) ?? '';
    await tabTo(id);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/row?*');
    expect(await page.locator('.timeline').isVisible()).toBe(true);
    await tabTo('as_of');
    await page.fill('#as-of', '2100-01-01T00:00');
    await tabTo('Show');
    await page.keyboard.press('Enter');
    await page.waitForURL('**as_of=2100*');
    expect(page.url()).toContain('agent_id=');
    expect(await page.locator('h1').textContent()).toBe(id);
    expect(problems).toEqual([]);
  });

  it('runs a saved query with the keyboard alone', async () => {
    await open('saved/workspace-history');
    await tabTo('workspace');
    await page.keyboard.type(HOSTILE_ID);
    await page.keyboard.press('Enter');
    await page.waitForSelector('#result tbody tr');
    expect(new URL(page.url()).searchParams.get('workspace')).toBe(HOSTILE_ID);
    await tabTo('CSV');
    const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')]);
    expect(download.suggestedFilename()).toBe('workspace-history.csv');
  });

  it('says on an open page that newer data is published', async () => {
    await open('tables');
    await changePublished(folder, (database) => database.run('delete from outbox'));
    await page.evaluate("dispatchEvent(new Event('focus'))");
    await page.waitForSelector('#site-status a');
    expect(await page.locator('#site-status').textContent()).toMatch(
      /^Newer data was published at \d{4}-.*Reload the page$/u,
    );
    await page.locator('#site-status a').click();
    await page.waitForFunction("document.querySelector('#site-status').textContent === ''");
  });

  it('says that a query waits in the queue', async () => {
    const alone = await startServe(folder, ['--workers', '1']);
    const slow = alone.get(queryPath('select sleep_ms(600000) as n')).catch(() => {});
    const waiting = await openOwnPage(shared.browser());
    await waiting.goto(`${alone.url}saved/workspace-history`);
    await waiting.fill('[name=workspace]', 'x');
    // A page whose successor is on the way runs its script, but answers no more questions: it reports by itself.
    await waiting.evaluate(`new MutationObserver(() => console.log(document.querySelector('#site-status').textContent))
      .observe(document.querySelector('#site-status'), { childList: true, subtree: true })`);
    const said = waiting.waitForEvent('console', (message) =>
      message.text().startsWith('The query waits: 1 query runs and '),
    );
    void waiting.keyboard.press('Enter').catch(() => {});
    await said;
    alone.process.kill('SIGKILL');
    await slow;
    await waiting.close();
  });

  it('serves the reports as they look in a file: with their style and their script', async () => {
    for (const visit of ['first', 'second']) {
      await open('reports/drift.html');
      expect(await page.evaluate("getComputedStyle(document.querySelector('.bar')).display"), visit).toBe('flex');
      expect(await page.locator('th button').count(), visit).toBeGreaterThan(0);
      expect(problems).toEqual([]);
      await open('reports/overview.html');
    }
  });
});
