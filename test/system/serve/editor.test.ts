import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { inspectPage, noBrowser, openOwnPage, shareBrowser } from '../../helpers/browser.ts';
import { copyServedProject, HOSTILE, type Served, startServe } from '../../helpers/served.ts';
import { cleanAtEnd } from '../../helpers/temp.ts';

const atEnd = cleanAtEnd();
const COUNTS = 'select project_name, count(*) as workspaces from workspaces group by all order by all';

describe.skipIf(noBrowser !== undefined)('the SQL editor, in a browser', () => {
  let served: Served;
  let page: Page;
  /** Everything that a browser reports besides the status of an answer: violations of the policy, exceptions, requests elsewhere. */
  const shared = shareBrowser(
    (address) => address.startsWith(served.url),
    (message) => message.includes('status of 400'),
  );
  const { problems } = shared;

  beforeAll(async () => {
    served = await startServe(await copyServedProject(atEnd), [], { cleanup: atEnd });
  });

  const address = (params: Readonly<Record<string, string>>) => `${served.url}sql?${new URLSearchParams(params)}`;

  async function open(params: Readonly<Record<string, string>> = {}) {
    page = await shared.open(address(params));
    await page.waitForSelector('html[data-editor=ready]');
    if (!params.sql) return;
    // a link from elsewhere fills the form, and its reader runs it
    expect(await page.locator('[role=note]').textContent()).toContain('has not run');
    await run();
  }

  async function run() {
    await Promise.all([page.waitForEvent('load'), page.locator('main button', { hasText: 'Run' }).click()]);
    await page.waitForSelector('html[data-editor=ready]');
  }

  const options = () => page.locator('.cm-tooltip-autocomplete li').allTextContents();
  const cells = (row: number) => page.locator('#result tbody tr').nth(row).locator('td').allTextContents();
  const text = () => page.locator('.cm-content').textContent();

  it('completes keywords, tables, columns of the tables that are named, and columns after a dot', async () => {
    await open();
    await page.keyboard.type('sel');
    await page.waitForSelector('.cm-tooltip-autocomplete');
    await expect.poll(async () => (await options())[0]).toBe('select'); // the list of the characters before may still be there
    await page.waitForTimeout(100); // a completion is taken only when it was shown for a moment
    await page.keyboard.press('Enter');
    await page.keyboard.type(' * from worksp');
    await page.waitForSelector('.cm-tooltip-autocomplete');
    await expect.poll(options).toEqual(expect.arrayContaining(['workspaces', 'workspaces_history', 'workspaces_at(']));
    await page.keyboard.press('Escape');
    await page.keyboard.type('aces w where drif');
    await page.waitForSelector('.cm-tooltip-autocomplete');
    await expect.poll(async () => (await options())[0]).toBe('driftedworkspaces');
    await page.waitForTimeout(100);
    await page.keyboard.press('Enter');
    await page.keyboard.type(' and w.project_n');
    await page.waitForSelector('.cm-tooltip-autocomplete');
    await expect.poll(async () => (await options())[0]).toBe('project_name');
    await page.waitForTimeout(100);
    await page.keyboard.press('Enter');
    expect(await text()).toBe('select * from workspaces w where drifted and w.project_name');
    expect(problems).toEqual([]);
  });

  it('is used with the keyboard alone: Ctrl-Enter runs, Tab leaves it, and every control has a visible focus', async () => {
    await open();
    await page.keyboard.type(`${COUNTS}\n`);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+Enter');
    await page.waitForSelector('#result');
    await page.waitForSelector('html[data-editor=ready]');
    expect(await page.evaluate('document.activeElement.className')).toContain('cm-content');
    await page.keyboard.press('Escape');
    const reached: string[] = [];
    for (let step = 0; step < 14; step++) {
      await page.keyboard.press('Tab');
      reached.push(await page.evaluate('document.activeElement.textContent.trim()'));
      expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), reached.at(-1)).toBe(
        'solid',
      );
    }
    expect(reached.slice(0, 6)).toEqual(['Run', 'Tables', 'Examples', 'History', 'Table', 'Chart']);
    expect(reached.slice(6, 11)).toEqual(['CSV', 'JSON', 'NDJSON', 'PARQUET', 'XLSX']);
    for (let step = 0; step < 8; step++) await page.keyboard.press('Shift+Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Chart');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#result .chart svg');
    expect(problems).toEqual([]);
  });

  it('shows numbers to the right, NULL apart from empty text and from "NULL", and JSON that can be read', async () => {
    await open({
      sql: `select 12345678901234567890 as n, null as nothing, '' as empty, 'NULL' as word,
        {list: range(30), big: 12345678901234567890} as nested, 'a  b' || chr(10) || 'c' as lines from range(2)`, // one row is a list of its cells
    });
    expect(await cells(0)).toEqual(['12345678901234567890', 'NULL', '', 'NULL', expect.any(String), 'a  b\nc']);
    expect(await page.locator('#result td i.null').count()).toBe(2);
    expect(await page.evaluate("getComputedStyle(document.querySelector('#result td')).textAlign")).toBe('right');
    await page.locator('#result summary').first().click();
    expect(await page.locator('#result pre').first().textContent()).toMatch(
      /^\{\n {2}"list": \[\n {4}0,[\s\S]*"big": 12345678901234567890\n\}$/u,
    );
    expect(problems).toEqual([]);
  });

  it('shows the first 1,000 rows, says so, and sends all as files', async () => {
    const sql = 'select range as n, n % 7 as rest from range(1500)';
    await open({ sql });
    expect(await page.locator('#result .count').textContent()).toBe(
      'The result has more than 1,000 rows: the table has the first 1,000, and the files have all.',
    );
    expect(await page.locator('#result tbody tr').count()).toBe(1_000);
    for (const format of ['CSV', 'JSON', 'NDJSON']) {
      const download = page.waitForEvent('download');
      await page.locator('.downloads a', { hasText: new RegExp(`^${format}$`, 'u') }).click();
      const file = await (await download).path();
      expect((await readFile(file, 'utf8')).match(/1499/gu), format).toHaveLength(1);
    }
    for (const [format, start] of [
      ['PARQUET', 'PAR1'],
      ['XLSX', 'PK'],
    ] as const) {
      const download = page.waitForEvent('download');
      await page.locator('.downloads a', { hasText: format }).click();
      const file = await download;
      expect(file.suggestedFilename()).toBe(`query.${format.toLowerCase()}`);
      expect((await readFile(await file.path(), 'latin1')).slice(0, start.length)).toBe(start);
    }
  });

  it('draws lines and bars with tooltips, and says why it cannot', async () => {
    await open({ sql: 'select as_of, source, rows from pulls', view: 'chart' });
    expect(await page.locator('#result svg.wide path.line').count()).toBe(7);
    expect(await page.locator('#result .hit title').first().textContent()).toMatch(/^\d+ \w+ \d\d:\d\d: /u);
    await open({ sql: COUNTS, view: 'chart' });
    const bars = page.locator('#result svg.wide rect.bar');
    expect(await bars.first().locator('title').textContent()).toMatch(/: workspaces \d+$/u);
    await page.locator('.views a', { hasText: 'Table' }).click();
    await page.waitForSelector('#result tbody tr');
    await page.waitForLoadState();
    expect(await page.locator('#result tbody tr').count()).toBeGreaterThan(1);
    await open({ sql: "select 'a' as a", view: 'chart' });
    expect(await page.locator('#result').textContent()).toContain('A chart needs a column of numbers');
    expect(problems).toEqual([]);
  });

  it('has a link to the query, and one to its data, which shows the same after the next run', async () => {
    const sql = "select '  a\nb' as x, count(*) from workspaces where project_name <> $project";
    await open({ sql, project: 'no & such=project', view: 'chart' });
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('.share button').first().click();
    await page.locator('#site-status', { hasText: 'The link is copied.' }).waitFor({ state: 'attached' });
    const link = new URL(await page.evaluate<string>('navigator.clipboard.readText()'));
    expect(Object.fromEntries(link.searchParams)).toEqual({ sql, project: 'no & such=project', view: 'chart' });
    const frozen = new URL((await page.locator('.share a').nth(1).getAttribute('href')) ?? '', served.url);
    expect(frozen.searchParams.get('as_of')).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/u);
    await page.goto(frozen.href);
    await run();
    expect(await page.locator('header').textContent()).toContain('As of ');
    expect(await page.locator('.share a').count()).toBe(1);
    expect(problems).toEqual([]);
  });

  it('keeps the time of the page', async () => {
    await open({ sql: 'select count(*) as n from workspaces', as_of: '2100-01-01T00:00:00Z' });
    const shown = await cells(0);
    await page.locator('.cm-content').focus();
    await Promise.all([page.waitForEvent('load'), page.keyboard.press('Control+Enter')]);
    expect(page.url()).toContain('as_of=2100');
    expect(await cells(0)).toEqual(shown);
  });

  it('puts the cursor where DuckDB found an error, and keeps the text', async () => {
    await open({ sql: 'select *\nfrom workspacez' });
    expect(await page.locator('[role=alert]').textContent()).toMatch(
      /line 2, column 6[\s\S]*Did you mean "workspaces/u,
    );
    expect(await page.locator('.cm-error-line').textContent()).toBe('from workspacez');
    for (let index = 0; index < 'workspacez'.length; index++) await page.keyboard.press('Delete');
    await page.keyboard.type('pulls');
    expect(await page.locator('.cm-error-line').count()).toBe(0);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+Enter');
    await page.waitForSelector('#result');
    expect(await page.locator('textarea').inputValue()).toBe('select *\nfrom pulls');
    expect(problems).toEqual([]);
  });

  it('has a field for each parameter', async () => {
    await open({ sql: 'select $a || $b as c, $$not $a parameter$$ as d' });
    expect(await page.locator('[role=alert]').textContent()).toContain('fill in its field');
    await page.locator('#param-0').fill("it's");
    await page.locator('#param-1').fill(' <b>');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#result');
    expect(await cells(0)).toEqual(["it's <b>", 'not $a parameter']);
  });

  it('shows hostile names as text: in data, names of columns, errors, charts and the editor', async () => {
    const quoted = `'${HOSTILE.replaceAll("'", "''")}'`;
    const name = `"${HOSTILE.replaceAll('"', '""')}"`;
    for (const [sql, view] of [
      [`select workspace_name, ${quoted} as ${name}, [${quoted}] as list, 1 as n from workspaces`, ''],
      [`select ${quoted} as ${name}, 1 as ${name.replace('>', '>2')}`, 'chart'],
      [`select as_of, ${quoted} as x, row_number() over () as ${name} from pulls`, 'chart'],
      [`select ${name} from workspaces`, ''],
      [`</textarea><script>document.title='owned'</script>${HOSTILE}`, ''],
    ] as const) {
      await open({ sql, view, '"><script>document.title=1</script>': '"><img src=x>' });
      expect(await page.title(), sql).toBe('SQL · Tidemark');
      expect(await page.locator('img').count(), sql).toBe(0);
      expect(await page.locator('main script:not([nonce])').count(), sql).toBe(0);
      expect(await text(), sql).toContain('owned');
      expect(problems, sql).toEqual([]);
    }
  });

  it('works without JavaScript', async () => {
    const plain = await openOwnPage(shared.browser(), { javaScriptEnabled: false });
    await plain.goto(address({}));
    await plain.locator('textarea').fill(COUNTS);
    await plain.locator('button', { hasText: 'Run' }).click();
    await plain.waitForSelector('#result tbody tr');
    await plain.waitForLoadState();
    expect(await plain.locator('#result tbody tr').count()).toBeGreaterThan(1);
    await plain.locator('.views a', { hasText: 'Chart' }).click();
    await plain.waitForSelector('#result svg.wide rect.bar');
    await plain.waitForLoadState();
    expect(await plain.locator('#result svg.wide rect.bar').count()).toBeGreaterThan(1);
    expect(await plain.locator('textarea').inputValue()).toBe(COUNTS);
    expect(await plain.locator('[data-copy]:visible, .keys:visible').count()).toBe(0);
    await plain.close();
  });

  it.each([
    ['empty, with completions', '', ''],
    ['with a wide result', `select *, [1, 2] || range(50) as list from workspaces`, ''],
    ['with a chart', 'select as_of, source, rows from pulls', 'chart'],
    ['with an error', `select ${'a_long_name + '.repeat(20)} 1\nfrom workspacez`, ''],
  ])('fits every width in light and dark colors without violations of accessibility: %s', async (_, sql, view) => {
    await open({ sql, view });
    if (sql === '') {
      await page.keyboard.type('select w');
      await page.waitForSelector('.cm-tooltip-autocomplete');
    }
    // arrows in the editor scroll completions
    const withoutRules = sql === '' ? ['scrollable-region-focusable'] : [];
    expect(await inspectPage(page, { withoutRules })).toEqual([]);
    expect(problems).toEqual([]);
  });
});
