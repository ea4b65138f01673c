import { lstat, open, realpath } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Exchange, NotFoundError, type Route } from './route.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.csv': 'text/csv; charset=utf-8; header=present',
};

/** The files that reports consist of, and no other path: a name never begins with a dot. */
const REPORT_PATH =
  /^(?:archive\/\d{4}-\d\d-\d\d\/|as-of\/[\w-][\w.-]*\/|subjects\/)?[\w-][\w.-]*\.(?:html|txt|json|csv)$/u;

/** Sends a file of the reports. A link in the folder is not followed. */
async function sendReportFile(exchange: Exchange): Promise<void> {
  const { name, url, request, response, config, signal } = exchange;
  if (!REPORT_PATH.test(name)) throw new NotFoundError(url.pathname);
  const path = await findFile(config.output, name);
  if (path === undefined) throw new NotFoundError(url.pathname);
  const handle = await open(path);
  try {
    const { size, mtime, ino } = await handle.stat();
    const etag = `"${ino.toString(36)}-${size.toString(36)}-${mtime.getTime().toString(36)}"`;
    response.setHeader('etag', etag);
    response.setHeader('last-modified', mtime.toUTCString());
    response.setHeader('cache-control', 'no-cache');
    if (request.headers['if-none-match'] === etag) {
      response.writeHead(304).end();
      return;
    }
    const type = TYPES[extname(name)] as string;
    if (extname(name) === '.html') response.setHeader('content-security-policy', await readPolicy(handle));
    response.writeHead(200, { 'content-type': type, 'content-length': size });
    if (request.method === 'HEAD' || size === 0) {
      response.end();
      return;
    }
    // A run replaces files by a rename, so that this one does not grow meanwhile.
    await pipeline(handle.createReadStream({ start: 0, end: size - 1, autoClose: false }), response, { signal });
  } finally {
    await handle.close();
  }
}

/** The path of a regular file that is where its name says, so that no part of it is a link. */
async function findFile(output: string, name: string): Promise<string | undefined> {
  try {
    const path = join(await realpath(output), name);
    return (await realpath(path)) === path && (await lstat(path)).isFile() ? path : undefined;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return undefined;
    throw error;
  }
}

const POLICY_LENGTH = 2_048;
const META = /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/u;
/** Directives of a report's own policy: sources in quotes, and nothing that could begin another header. */
const POLICY = /^[\w '+/=;-]+$/u;
const STRICT = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** The policy that the report itself declares, which allows its stylesheet and its script by their hashes. */
async function readPolicy(handle: Awaited<ReturnType<typeof open>>): Promise<string> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(POLICY_LENGTH), 0, POLICY_LENGTH, 0);
  const declared = META.exec(buffer.toString('utf8', 0, bytesRead))?.[1] ?? '';
  const policy = declared.replaceAll('&#x27;', "'").replaceAll('&#x3D;', '=');
  return `${POLICY.test(policy) ? policy : STRICT}; frame-ancestors 'none'`;
}

export const reportFileRoute: Route = { pattern: /^\/reports\/(.+)$/u, answer: sendReportFile };
