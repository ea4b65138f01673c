import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { createTargets } from '../../../src/config/config.ts';
import { renderReports } from '../../../src/tell/reports/index.ts';
import { subjectPath } from '../../../src/tell/reports/subjects.ts';
import { inspectPage, noBrowser, openOwnPage, shareBrowser } from '../../helpers/browser.ts';
import { createMailWarehouse, PLATFORM } from '../../helpers/mail-warehouse.ts';
import { prepareOnce } from '../../helpers/prepared.ts';
import { workspace } from '../../helpers/report-warehouse.ts';

const HOSTILE = '"><script>document.title = "broken"</script>';
const day = (number: number) => `2026-11-0${number}T02:15:00Z`;

/** The pages of three days, in a folder that the tests share. */
const renderPages = () =>
  prepareOnce('subject-pages', async (folder) => {
    const warehouse = await createMailWarehouse();
    const steady = ['billing-prod', 'billing-dev', 'web', HOSTILE].map((name, index) =>
      workspace(`${index}`, { workspace_name: name, project_name: index < 2 ? 'payments' : 'shop' }),
    );
    const drifting = (resources: number) =>
      workspace('d', { workspace_name: 'ledger', drifted: true, resources_drifted: resources, extra: { tags: ['a'] } });
    await warehouse.pull(day(1), { workspaces: [...steady, drifting(1)] });
    await warehouse.pull(day(2), { workspaces: 'failed' });
    await warehouse.pull(day(3), { workspaces: [...steady, drifting(20)] });
    await warehouse.evaluate(day(3));
    const options = { names: ['drift'], targets: createTargets([PLATFORM]), out: folder };
    await renderReports(warehouse.options(day(3), options));
  });

describe.skipIf(noBrowser !== undefined)('the pages of subjects, in a browser', () => {
  const { open: openPage, problems, browser } = shareBrowser((opened) => opened.startsWith('file:'));
  let out: string;
  let page: Page;

  beforeEach(async () => {
    out = await renderPages();
  });

  const LEDGER = subjectPath({ target: 'acme', type: 'workspace', id: 'ws-d' });
  const address = (path: string) => `${pathToFileURL(join(out, path)).href}`;

  async function open(path: string, hash = '') {
    page = await openPage(address(path) + hash);
  }

  const shown = () => page.locator('li[data-id]:visible a').allTextContents();

  it.each(['subjects.html', LEDGER])('fit every width without violations of accessibility: %s', async (path) => {
    await open(path);
    expect(await inspectPage(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('lead from a report to a subject, its kind, its project, and back', async () => {
    await open('drift.html');
    await page.locator('#drifting a', { hasText: 'ledger' }).first().click();
    expect(page.url()).toBe(address(LEDGER));
    expect(await page.locator('.timeline > li').first().textContent()).toContain('resources_drifted: 1 → 20');
    expect(await page.locator('.timeline > li[data-kind=gap]').count()).toBe(1);
    expect(await page.locator('.headline a').getAttribute('href')).toBe('https://x.example/app/acme/workspaces/ledger');
    await page.locator('.related a', { hasText: 'core' }).click();
    expect(await page.locator('h1').textContent()).toBe('core');
    await page.locator('.crumbs a').last().click();
    expect(page.url()).toBe(`${address('subjects.html')}#project`);
    await page.locator('.mark').click();
    expect(page.url()).toBe(address('index.html'));
    expect(problems).toEqual([]);
  });

  it('are searched by keyboard from any page: a slash, words, arrows, Enter', async () => {
    await open('drift.html');
    await page.keyboard.press('/');
    await page.keyboard.type('PAYMENTS billing');
    await page.keyboard.press('Enter');
    await page.waitForURL(/subjects\.html#q=/u);
    expect(await shown()).toEqual(['billing-dev', 'billing-prod']);
    expect(await page.locator('.found').textContent()).toMatch(/^2 of \d+ subjects$/u);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('billing-prod');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    expect(await page.evaluate('document.activeElement.value')).toBe('PAYMENTS billing');
    await page.keyboard.press('Enter');
    await page.waitForURL(/subjects\/workspace-/u);
    expect(await page.locator('h1').textContent()).toBe('billing-dev');
    expect(problems).toEqual([]);
  });

  it('answer a search while it is typed, on any page, and by keyboard', async () => {
    await open('drift.html');
    await page.keyboard.press('/');
    await page.keyboard.type('LED');
    const answers = page.locator('.answers a');
    expect(await answers.allTextContents()).toEqual(['ledger', 'Search all subjects']);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    expect(await page.locator('h1').textContent()).toBe('ledger');
    await page.goBack();
    expect(await answers.count()).toBe(0);
    expect(problems).toEqual([]);
  });

  it('and reports say that they are old when they are read later; without a script they say until when they are current', async () => {
    for (const path of ['drift.html', LEDGER]) {
      await open(path);
      expect(await page.locator('.as-of').textContent()).toContain('current until 2026-11-04 14:15');
      expect(await page.locator('.aged').textContent()).toMatch(/^This page is \d+ days old/u);
    }
    const fresh = await openOwnPage(browser());
    await fresh.clock.setFixedTime(new Date(day(3)));
    await fresh.goto(address('drift.html'));
    expect(await fresh.locator('.aged').isVisible()).toBe(false);
    await fresh.close();
    const plain = await openOwnPage(browser(), { javaScriptEnabled: false });
    await plain.goto(address('drift.html'));
    expect(await plain.locator('.as-of').textContent()).toContain('current until 2026-11-04 14:15');
    await plain.close();
  });

  it('are found by ID, by project and by rule', async () => {
    await open('subjects.html');
    const all = await shown();
    for (const [words, names] of [
      ['ws-d', ['ledger']],
      ['shop web', ['web']],
      ['drifted-workspace', ['ledger']],
      ['no such subject', []],
      ['', all],
    ] as const) {
      await page.locator('form.search input').fill(words);
      expect(await shown(), words).toEqual(names);
    }
  });

  it('show a hostile name as text, and search it', async () => {
    await open('subjects.html', `#q=${encodeURIComponent(HOSTILE)}`);
    expect(await shown()).toEqual([HOSTILE]);
    await page.keyboard.press('Enter');
    await page.waitForURL(/subjects\/workspace-/u);
    expect(await page.locator('h1').textContent()).toBe(HOSTILE);
    expect(await page.title()).toContain('Tidemark');
    expect(problems).toEqual([]);
  });

  it('are a plain list without JavaScript', async () => {
    const plain = await openOwnPage(browser(), { javaScriptEnabled: false });
    await plain.goto(address('subjects.html'));
    expect(await plain.locator('form.search').isVisible()).toBe(false);
    expect(await plain.locator('ul.subjects > li:visible').count()).toBeGreaterThan(5);
    await plain.close();
  });
});
