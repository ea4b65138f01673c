import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { discoverFiles } from '../../core/paths.ts';
import { readTemplate } from '../../tell/reports/templates.ts';
import { EDITOR_FILE } from '../query/child-file.ts';
import { type Asset, type Exchange, NotFoundError, type Site } from './route.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/** Reads the stylesheet and the script that pages share with the reports, the CSS and JS files of `reports/serve/`, and the editor. */
export async function loadAssets(roots: readonly string[]): Promise<Site['assets']> {
  const assets = new Map<string, Asset>();
  for (const name of ['style.css', 'tables.js']) assets.set(name, toAsset(name, readTemplate(roots, name)));
  for (const extension of Object.keys(TYPES)) {
    for (const [name, path] of discoverFiles(roots, 'reports/serve', extension)) {
      assets.set(`${name}${extension}`, toAsset(path, await readFile(path)));
    }
  }
  return assets.set('editor.js', toAsset(EDITOR_FILE, await readFile(EDITOR_FILE)));
}

function toAsset(name: string, data: string | Buffer): Asset {
  const content = Buffer.from(data);
  const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
  return { type: TYPES[extname(name)] ?? 'application/octet-stream', content, etag };
}

/** `/assets/NAME`, which is asked for each time, and answered with 304. */
export async function sendAsset({ assets, name, url, request, response }: Exchange): Promise<void> {
  const asset = assets.get(name);
  if (!asset) throw new NotFoundError(url.pathname);
  const { type, content, etag } = asset;
  response.setHeader('etag', etag);
  response.setHeader('cache-control', 'no-cache');
  if (request.headers['if-none-match'] === etag) response.writeHead(304).end();
  else response.writeHead(200, { 'content-type': type, 'content-length': content.length }).end(content);
}
