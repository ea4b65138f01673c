import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { beforeAll, expect, test } from 'vitest';
import { noBrowser, shareBrowser } from '../../helpers/browser.ts';
import { copyServedProject, OWN, type Served, startServe } from '../../helpers/served.ts';
import { cleanAtEnd } from '../../helpers/temp.ts';

const atEnd = cleanAtEnd();
const RUN = '0c6d6e2e-7f0e-4d0c-9c58-6f3b1a2d4e5f';
const SLOW = 'select sleep_ms(600000) as n';
let server: Served;

beforeAll(async () => {
  server = await startServe(await copyServedProject(atEnd), ['--workers', '1'], { cleanup: atEnd });
});

async function post(path: string, headers: Record<string, string>, from = '127.0.0.1'): Promise<number | undefined> {
  const { hostname, port } = new URL(server.url);
  const sent = request({ method: 'POST', hostname, port, path, headers, localAddress: from, agent: false });
  sent.end(`_run=${RUN}`);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

const running = async () => (JSON.parse((await server.get('/state.json')).body) as { running: number }).running;

test('a query that runs ends when its reader cancels it, and for nobody else', async () => {
  const slow = server.get(`/query.csv?${new URLSearchParams({ sql: SLOW, _run: RUN })}`, OWN);
  await expect.poll(running).toBe(1);
  expect(await post('/sql/cancel', {})).toBe(403);
  expect(
    await post('/sql/cancel', {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    }),
  ).toBe(403);
  expect(await post('/sql/cancel', OWN, '127.0.0.2')).toBe(204);
  expect(await post('/sql', OWN)).toBe(405);
  expect((await server.get('/sql/cancel')).status).toBe(404);
  expect(await running()).toBe(1);
  expect(await post('/sql/cancel', OWN)).toBe(204);
  const { status, body } = await slow;
  expect([status, body.includes('the query was cancelled')]).toEqual([400, true]);
  expect((await server.get('/query.csv?sql=select+1+as+n')).body).toBe('n\n1\n');
});

test.skipIf(noBrowser !== undefined).each([true, false])(
  'the page of a query cancels it, and keeps its text (script: %s)',
  async (javaScriptEnabled) => {
    const page = await browser.browser().newPage({ javaScriptEnabled });
    await page.goto(`${server.url}sql`);
    if (javaScriptEnabled) {
      await page.waitForSelector('html[data-editor=ready]');
      await page.keyboard.type(SLOW);
      await page.keyboard.press('Escape');
      expect(await page.locator('button.cancel').isVisible()).toBe(false);
    } else await page.locator('textarea').fill(SLOW);
    // A page whose successor is on the way answers no questions of a debugger: it gets keys alone.
    await page.locator('main button', { hasText: 'Run' }).focus();
    const pressed = page.keyboard.press('Enter').catch(() => {});
    await expect.poll(running).toBe(1);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await pressed;
    await expect.poll(running).toBe(0);
    if (javaScriptEnabled) {
      expect(await page.locator('#site-status').textContent()).toBe('The query was cancelled.');
      expect(await page.locator('.cm-content').textContent()).toBe(SLOW);
    } else expect(await page.locator('textarea').inputValue()).toBe(SLOW);
    await page.close();
  },
);

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
    await page.waitForURL((url) => !url.searchParams.has('_run'));
    const hostile = `select '</script><img src=x onerror="document.title=1">' as x`;
    await page.goto(`${server.url}sql?${new URLSearchParams({ sql: hostile })}`);
    await page.waitForSelector('html[data-editor=ready]');
    await page.locator('main button', { hasText: 'Run' }).click();
    await page.waitForSelector('#result td:has-text("onerror")');
    await page.waitForURL((url) => !url.searchParams.has('_run'));
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
