import { createReadStream } from 'node:fs';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import type { Recorded } from './prepare.ts';
import { serveMessages } from './processes.ts';

/**
 * Serves the responses that `prepare.ts` recorded below /ESTATE, with as little work as possible. `PUT /ESTATE/DAY` chooses
 * the day: at another address a pull would take every row that is missing for unknown.
 */
export const main = () => serveMessages(serve);

/** A high limit: the part `rate` measures the rate limiter. */
const HEADERS = { 'x-ratelimit-limit': '100000', 'x-ratelimit-remaining': '99999', 'x-ratelimit-reset': '1.000' };
/** Larger bodies are sent in pieces. */
const LARGE_BYTES = 4 * 1024 * 1024;

/** The responses of one day. */
interface Day {
  readonly index: Readonly<Record<string, Recorded>>;
  readonly bodies: FileHandle;
}

async function serve({ root }: { readonly root: string }): Promise<{ readonly url: string }> {
  const days = new Map<string, Promise<Day>>();
  /** The path of the day that an estate shows. */
  const shown = new Map<string, string>();
  const openDay = (folder: string) => {
    const known = days.get(folder) ?? readDay(join(root, folder));
    days.set(folder, known);
    return known;
  };
  const respond = async (path: string, response: ServerResponse): Promise<void> => {
    const end = path.indexOf('/api/v2/');
    const { index, bodies } = await openDay(shown.get(path.slice(0, end)) ?? '');
    const recorded = index[path.slice(end)];
    if (!recorded) response.writeHead(404, HEADERS).end();
    else await send(bodies, recorded, response);
  };
  const server = createServer(({ method, url: path = '/' }, response) => {
    if (method === 'PUT') {
      shown.set(dirname(path), path);
      response.writeHead(204).end();
      return;
    }
    respond(path, response).catch((error: Error) => response.destroy(error));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  process.once('disconnect', () => server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function readDay(folder: string): Promise<Day> {
  const index = JSON.parse(await readFile(join(folder, 'index.json'), 'utf8')) as Day['index'];
  return { index, bodies: await open(join(folder, 'bodies')) };
}

async function send(
  bodies: FileHandle,
  { start, bytes, status, type }: Recorded,
  response: ServerResponse,
): Promise<void> {
  response.writeHead(status, { ...HEADERS, 'content-type': type, 'content-length': bytes });
  if (bytes > LARGE_BYTES) {
    // The number: each stream of a FileHandle would listen to its end.
    const options = { fd: bodies.fd, autoClose: false, start, end: start + bytes - 1, highWaterMark: 1024 * 1024 };
    createReadStream('', options).pipe(response);
    return;
  }
  const { buffer } = await bodies.read(Buffer.alloc(bytes), 0, bytes, start);
  response.end(buffer);
}
