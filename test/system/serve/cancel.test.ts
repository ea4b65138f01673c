import { beforeAll, expect, test } from 'vitest';
import { noBrowser, shareBrowser } from '../../helpers/browser.ts';
import { copyServedProject, OWN, type Served, startServe } from '../../helpers/served.ts';
import { cleanAtEnd } from '../../helpers/temp.ts';

const atEnd = cleanAtEnd();
const SLOW = 'select sleep_ms(600000) as n';
let server: Served;

beforeAll(async () => {
  server = await startServe(await copyServedProject(atEnd), ['--workers', '1'], { cleanup: atEnd });
});

const running = async () => (JSON.parse((await server.get('/state.json')).body) as { running: number }).running;

test.skipIf(noBrowser !== undefined)('the page of a query cancels it, and keeps its text', async () => {
  const page = await browser.open(`${server.url}sql`);
  await page.waitForSelector('html[data-editor=ready]');
  await page.keyboard.type(SLOW);
  await page.keyboard.press('Escape');
  expect(await page.locator('button.cancel').isVisible()).toBe(false);
  // A page whose successor is on the way answers no questions of a debugger: it gets keys alone.
  await page.locator('main button', { hasText: 'Run' }).focus();
  const pressed = page.keyboard.press('Enter').catch(() => {});
  await expect.poll(running).toBe(1);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await pressed;
  await expect.poll(running).toBe(0);
  expect(await page.locator('#site-status').textContent()).toBe('The query was cancelled.');
  expect(await page.locator('.cm-content').textContent()).toBe(SLOW);
  expect(await page.locator('button.cancel').isVisible()).toBe(false);
  expect((await server.get('/query.csv?sql=select+1+as+n')).body).toBe('n\n1\n');
});

test.skipIf(noBrowser !== undefined)(
  'the page of SQL lists tables and examples that run, and what ran in this browser, as text',
  async () => {
    const page = await browser.open(`${server.url}sql`);
    expect(await page.locator('#history').isVisible()).toBe(false);
    await page.locator('summary', { hasText: 'Examples' }).click();
    const examples = await page.evaluate<readonly string[]>(
      "[...document.querySelectorAll('details[open] li a')].map(({ href }) => href)",
    );
    for (const href of examples) {
      const { status, body } = await server.get(href.slice(server.url.length - 1), OWN);
      expect(status, `${href}: ${body}`).toBe(200);
    }
    await page.locator('summary', { hasText: 'Tables' }).click();
    await page.locator('details[open] a', { hasText: /^agents$/u }).click();
    await page.waitForSelector('#result tbody tr');
    await page.waitForSelector('#history li', { state: 'attached' }); // the script runs after the rows are there
    const hostile = `select '</script><img src=x onerror="document.title=1">' as x`;
    await page.goto(`${server.url}sql?${new URLSearchParams({ sql: hostile })}`);
    await page.waitForSelector('html[data-editor=ready]');
    await page.locator('main button', { hasText: 'Run' }).click();
    await page.waitForSelector('#result td:has-text("onerror")');
    await page.locator('#history summary').click();
    expect(await page.locator('#history li').allTextContents()).toEqual([hostile, 'select * from "agents" limit 100']);
    await page.locator('#history a').last().click();
    await page.waitForSelector('#result th:has-text("agent_id")');
    await page.locator('#history summary').click();
    await page.locator('#history button').click();
    expect(await page.locator('#history').isVisible()).toBe(false);
    expect(await page.title()).toBe('SQL · Tidemark');
    expect(browser.problems).toEqual([]);
  },
);

const browser =
  noBrowser === undefined ? shareBrowser((address) => address.startsWith(server.url)) : (undefined as never);
