import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { LIST_ALIAS, withListMethod } from '../../sandbox/list-method.ts';
import { type Recorded, readRecorded } from './recorded.ts';

export interface ReplayServer {
  readonly url: string;
  /** The requests that no recorded answer was there for, as `METHOD PATH`. */
  readonly unanswered: readonly string[];
  close(): void;
}

/** Headers that Node writes itself. */
const OWN_HEADERS = ['content-length', 'transfer-encoding', 'date', 'connection'];

/** Answers each request with the recorded answer to it, and any other one with 404. */
export async function replay(names: readonly string[], extra: readonly Recorded[] = []): Promise<ReplayServer> {
  const recorded = [...names.map(readRecorded), ...extra];
  const byRequest = new Map(recorded.map((answer) => [describeRequest(answer.method, answer.path), answer]));
  const unanswered: string[] = [];
  const sockets = new Set<Socket>();
  const http = createHttpServer((request, response) => {
    request.resume();
    const method = request.method === LIST_ALIAS ? 'LIST' : (request.method ?? 'GET');
    const line = describeRequest(method, request.url ?? '/');
    const answer = byRequest.get(line);
    if (!answer) unanswered.push(line);
    const { status, headers, body } = answer ?? { status: 404, headers: {}, body: '' };
    const sent = Object.entries(headers).filter(([name]) => !OWN_HEADERS.includes(name));
    response.writeHead(status, Object.fromEntries(sent)).end(body);
  });
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    http.emit('connection', withListMethod(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    unanswered,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Method and path with the query in a fixed order. */
function describeRequest(method: string, path: string): string {
  const { pathname, searchParams } = new URL(path, 'http://x');
  searchParams.sort();
  return `${method} ${[pathname, ...(searchParams.size > 0 ? [decodeURIComponent(searchParams.toString())] : [])].join('?')}`;
}
