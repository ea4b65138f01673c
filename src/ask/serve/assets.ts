import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { discoverFiles } from '../../core/paths.ts';
import { readTemplate } from '../../tell/reports/templates.ts';

interface Asset {
  readonly type: string;
  readonly content: Buffer;
  readonly etag: string;
}

/** Files of `/assets/` by name. */
export type Assets = ReadonlyMap<string, Asset>;

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/** `reports/serve/editor.js` with all that it imports: in `dist/`, where the bundle puts it. */
const EDITOR_FILE = fileURLToPath(new URL('./browser/editor.js', import.meta.url));

/** Reads the stylesheet and the script that pages share with the reports, the CSS and JS files of `reports/serve/`, and the editor. */
export async function loadAssets(roots: readonly string[]): Promise<Assets> {
  const assets = new Map<string, Asset>();
  for (const name of ['style.css', 'tables.js']) assets.set(name, toAsset(name, await readTemplate(roots, name)));
  for (const extension of Object.keys(TYPES)) {
    for (const [name, path] of await discoverFiles(roots, 'reports/serve', extension)) {
      assets.set(`${name}${extension}`, toAsset(path, await readFile(path)));
    }
  }
  assets.set('editor.js', toAsset(EDITOR_FILE, await readFile(EDITOR_FILE)));
  return assets;
}

function toAsset(name: string, data: string | Buffer): Asset {
  const content = Buffer.from(data);
  const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
  return { type: TYPES[extname(name)] ?? 'application/octet-stream', content, etag };
}
