import { createHash } from 'node:crypto';
import { type FileHandle, lstat, open, readFile, realpath } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { REGULAR_FILE, readNamedFile } from '../../core/fs.ts';
import { discoverFiles } from '../../core/paths.ts';
import { listArchivedDates, toUtcDate } from '../../tell/reports/archive.ts';
import { readTemplate } from '../../tell/reports/templates.ts';
import { EDITOR_FILE } from '../query/child-file.ts';
import { type Exchange, NotFoundError, pageHref, renderTemplate, type Site } from './page.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.csv': 'text/csv; charset=utf-8; header=present',
  '.ics': 'text/calendar; charset=utf-8',
};

/** Reads the stylesheet and the script that pages share with the reports, the CSS and JS files of `reports/serve/`, and the editor. */
export async function loadAssets(roots: readonly string[]): Promise<Site['assets']> {
  const assets = new Map<string, Buffer>();
  for (const name of ['style.css', 'tables.js']) assets.set(name, Buffer.from(readTemplate(roots, name)));
  for (const extension of ['.css', '.js']) {
    for (const [name, path] of discoverFiles(roots, 'reports/serve', extension)) {
      assets.set(`${name}${extension}`, Buffer.from(readNamedFile(path, { code: 'DATA', ...REGULAR_FILE })));
    }
  }
  return assets.set('editor.js', await readFile(EDITOR_FILE));
}

export async function sendAsset(exchange: Exchange): Promise<void> {
  const { assets, name, url, response } = exchange;
  const content = assets.get(name);
  if (!content) throw new NotFoundError(url.pathname);
  if (isKnown(exchange, hashContent(content))) return;
  response.writeHead(200, { 'content-type': TYPES[extname(name)], 'content-length': content.length }).end(content);
}

/** A browser asks for a file each time. One that has this version is answered with 304. */
function isKnown({ request, response }: Exchange, version: string): boolean {
  response.setHeader('etag', `"${version}"`);
  response.setHeader('cache-control', 'no-cache');
  // A proxy that compresses marks it as weak.
  if (request.headers['if-none-match']?.replace(/^W\//u, '') !== `"${version}"`) return false;
  response.writeHead(304).end();
  return true;
}

function hashContent(content: Buffer): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 22);
}

/** The files that reports consist of, and no other path: a name never begins with a dot. */
const REPORT_PATH =
  /^(?<folder>archive\/\d{4}-\d\d-\d\d\/|as-of\/[\w-][\w.-]*\/|subjects\/|runs\/)?(?<file>[\w-][\w.-]*\.(?:html|txt|json|csv|ics))$/u;

/** The list of the reports is the index that the last run wrote. */
export async function sendReportIndex(exchange: Exchange): Promise<void> {
  exchange.response.writeHead(303, { location: pageHref(exchange, '/reports/index.html') }).end();
}

/** Sends a file of the reports; a page has the navigation of the site. A link in the folder is not followed. */
export async function sendReportFile(exchange: Exchange): Promise<void> {
  const { name, url, request, response, config, signal } = exchange;
  const { folder = '', file = '' } = REPORT_PATH.exec(name)?.groups ?? {};
  if (file === '') throw new NotFoundError(url.pathname);
  if (exchange.moment && folder !== 'runs/')
    return redirectToArchive(exchange, exchange.moment.run.as_of, folder, file);
  const path = await findFile(config.output, name);
  if (path === undefined)
    throw new NotFoundError(url.pathname, 'a job with reports, or `tidemark report`, writes them');
  const handle = await open(path);
  try {
    const { size, mtime, ino } = await handle.stat();
    const head = extname(name) === '.html' ? await readPageHead(exchange, handle) : NO_HEAD;
    const version = [ino, size, mtime.getTime()].map((number) => number.toString(36)).join('-');
    // Also of an answer without content: a browser keeps the headers of the last one.
    if (head.policy !== undefined) response.setHeader('content-security-policy', head.policy);
    response.setHeader('last-modified', mtime.toUTCString());
    if (isKnown(exchange, `${version}-${hashContent(head.content)}`)) return;
    const length = size - head.replacedBytes + head.content.length;
    response.writeHead(200, { 'content-type': TYPES[extname(name)], 'content-length': length });
    if (request.method === 'HEAD' || head.replacedBytes === size) {
      response.end(head.content);
      return;
    }
    response.write(head.content);
    // A run replaces files by a rename, so that this one does not grow meanwhile.
    const rest = handle.createReadStream({ start: head.replacedBytes, end: size - 1, autoClose: false });
    await pipeline(rest, response, { signal });
  } finally {
    await handle.close();
  }
}

/** Sends the reader of a page to the last one that was archived until the time of `as_of`. */
async function redirectToArchive(exchange: Exchange, time: Date, folder: string, file: string): Promise<void> {
  const { config, url, response } = exchange;
  const asOf = toUtcDate(time);
  const date = (await listArchivedDates(config.output)).find((one) => one <= asOf);
  if (folder === 'subjects/' || file.startsWith('subjects.')) {
    throw new NotFoundError(`${url.pathname} as of ${asOf}`, 'pages of subjects show their whole history');
  }
  if (date === undefined) throw new NotFoundError(`report of ${asOf} or before`);
  response.writeHead(303, { location: `/reports/archive/${date}/${file}` }).end();
}

/** The path of a regular file that is where its name says, so that no part of it is a link. */
async function findFile(output: string, name: string): Promise<string | undefined> {
  try {
    const path = join(await realpath(output), name);
    return (await realpath(path)) === path && (await lstat(path)).isFile() ? path : undefined;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ENAMETOOLONG'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return undefined;
    throw error;
  }
}

const NO_HEAD = { content: Buffer.alloc(0), replacedBytes: 0, policy: undefined };
const MAX_HEAD_BYTES = 256 * 1024;
const META = /<meta http-equiv="Content-Security-Policy" content="([^"]*)">\n?/u;
/** The navigation follows the link that skips it. */
const START = /<body>(?:\s*<a class="skip"[^<]*<\/a>\n?)?/u;
/** Directives of a report's own policy: sources in quotes, and nothing that could begin another header. */
const POLICY = /^[\w '+/=;-]+$/u;
const STRICT = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/**
 * A report declares a policy that allows its stylesheet and its script by their hashes. The header has that policy instead, and also
 * allows the stylesheet and the form of the navigation, which is written at the beginning of `<body>`.
 * @returns the beginning of the page as it is sent, and how many bytes of the file it replaces
 */
async function readPageHead(exchange: Exchange, handle: FileHandle) {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_HEAD_BYTES), 0, MAX_HEAD_BYTES, 0);
  const begin = buffer.toString('utf8', 0, bytesRead);
  const start = START.exec(begin);
  const head = start ? begin.slice(0, start.index + start[0].length) : '';
  const replacedBytes = Buffer.byteLength(head);
  const declared = (META.exec(head)?.[1] ?? '').replaceAll('&#x27;', "'").replaceAll('&#x3D;', '=');
  const policy = (POLICY.test(declared) ? declared : STRICT)
    .replace(/style-src /u, "style-src 'self' ")
    .replace("form-action 'none'", "form-action 'self'");
  const bar = replacedBytes === 0 ? '' : await renderTemplate(exchange, 'report-bar', {});
  const content = Buffer.from(`${head.replace(META, '')}${bar}`);
  return { content, replacedBytes, policy: `${policy}; frame-ancestors 'none'` };
}
