import { describe, expect, onTestFinished, test } from 'vitest';
import { inspectPage, launchBrowser, noBrowser } from '../../helpers/browser.ts';

const PAGE = `<html lang="en"><head><title>Page</title>
  <style>@media (prefers-color-scheme: dark) { body { background: #222 } h1 { color: #eee } p { color: #333 } }</style></head>
  <body><main><h1>Page</h1><p>text</p><div style="width: 700px; height: 9px"></div><img src="data:,"></main></body></html>`;

describe.skipIf(noBrowser !== undefined)('the inspection of a page', () => {
  test('finds what a narrow screen cuts off, what has no text, and colors that are unreadable in dark alone', async () => {
    const browser = await launchBrowser();
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    await page.setContent(PAGE);
    expect(await inspectPage(page)).toEqual([
      expect.stringMatching(/^390: wider than the screen by \d+$/u),
      expect.stringMatching(/^390: cut off: <main>/u),
      '1280-light: image-alt: <img src="data:,">',
      '390-dark: color-contrast: <p>text</p>',
      '390-dark: image-alt: <img src="data:,">',
    ]);
  });
});
