import { describe, expect, test } from 'vitest';
import { inspectPage, noBrowser, shareBrowser } from '../../helpers/browser.ts';

const PAGE = `<html lang="en"><head><title>Page</title>
  <style>@media (prefers-color-scheme: dark) { body { background: #222 } h1 { color: #eee } p { color: #333 } }</style></head>
  <body><main><h1>Page</h1><p>text</p><div style="width: 700px; height: 9px"></div><img src="data:,"></main></body></html>`;

const NOISY = `<script>console.log('expected'); console.log('broken'); fetch('http://127.0.0.1:9/x').catch(() => {}); nothing();</script>`;

describe.skipIf(noBrowser !== undefined)('the inspection of a page', () => {
  const { open, problems } = shareBrowser(
    (address) => address.startsWith('data:'),
    (message) => /expected|ERR_/u.test(message),
  );

  test('finds what a narrow screen cuts off, what has no text, and colors that are unreadable in dark alone', async () => {
    const page = await open('about:blank');
    await page.setContent(PAGE);
    expect(await inspectPage(page)).toEqual([
      expect.stringMatching(/^390: wider than the screen by \d+$/u),
      expect.stringMatching(/^390: cut off: <main>/u),
      '1280-light: image-alt: <img src="data:,">',
      '390-dark: color-contrast: <p>text</p>',
      '390-dark: image-alt: <img src="data:,">',
    ]);
  });

  test('lists what the page that is open has reported, and not what an earlier one has', async () => {
    await open(`data:text/html,${encodeURIComponent(NOISY)}`);
    await expect
      .poll(() => [...problems].sort())
      .toEqual(['log: broken', 'nothing is not defined', 'requested http://127.0.0.1:9/x']);
    await open('data:text/html,another');
    expect(problems).toEqual([]);
  });
});
