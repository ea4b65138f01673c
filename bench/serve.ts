import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { serveMessages } from './processes.ts';

/** Serves the files of `prepare.ts` at the platform's paths below /FOLDER/DAY, with as little work as possible. */
export const main = () => serveMessages(serve);

/** A high limit: the part `rate` measures the rate limiter. */
const HEADERS = { 'x-ratelimit-limit': '100000', 'x-ratelimit-remaining': '99999', 'x-ratelimit-reset': '1.000' };
const LINE_BREAK = 10;

async function serve({ root }: { readonly root: string }): Promise<{ readonly url: string }> {
  const pages = new Map<string, Promise<readonly Buffer[]>>();
  const readPages = (folder: string) => {
    const known = pages.get(folder) ?? readLines(join(folder, 'pages.ndjson'));
    pages.set(folder, known);
    return known;
  };
  const respond = async (url: URL, response: ServerResponse): Promise<void> => {
    const folder = join(root, url.pathname.slice(0, url.pathname.indexOf('/api/v2/')));
    if (url.pathname.endsWith('/export/csv')) return sendCsv(join(folder, 'workspaces.csv'), response);
    const json = { ...HEADERS, 'content-type': 'application/vnd.api+json' };
    const body =
      url.searchParams.get('page[size]') === '1'
        ? await readFile(join(folder, 'first.json'))
        : (await readPages(folder))[Number(url.searchParams.get('page[number]') ?? 1) - 1];
    response.writeHead(body ? 200 : 404, { ...json, 'content-length': body?.length ?? 0 });
    response.end(body);
  };
  const server = createServer((request, response) => {
    respond(new URL(request.url ?? '/', 'http://localhost'), response).catch((error: Error) => response.destroy(error));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  process.once('disconnect', () => server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function sendCsv(file: string, response: ServerResponse): Promise<void> {
  const { size } = await stat(file);
  response.writeHead(200, { ...HEADERS, 'content-type': 'text/csv; charset=utf-8', 'content-length': size });
  createReadStream(file, { highWaterMark: 1024 * 1024 }).pipe(response);
}

async function readLines(file: string): Promise<readonly Buffer[]> {
  const text = await readFile(file);
  const lines: Buffer[] = [];
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf(LINE_BREAK, start);
    lines.push(text.subarray(start, end));
    start = end + 1;
  }
  return lines;
}
