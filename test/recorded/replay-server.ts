import { createServer as createHttpServer } from 'node:http';
import { LIST_ALIAS, listen } from '../../sandbox/http.ts';
import { type Recorded, readRecorded } from './recorded.ts';

export interface ReplayServer {
  readonly url: string;
  /** The requests that no recorded answer was there for, as `METHOD PATH`. */
  readonly unanswered: readonly string[];
  close(): Promise<void>;
}

/** Headers that Node writes itself. */
const OWN_HEADERS = ['content-length', 'transfer-encoding', 'date', 'connection'];

/** Answers each request with the recorded answer to it, and any other one with 404. */
export async function replay(names: readonly string[], extra: readonly Recorded[] = []): Promise<ReplayServer> {
  const recorded = [...names.map(readRecorded), ...extra];
  const byRequest = new Map(recorded.map((answer) => [describeRequest(answer.method, answer.path), answer]));
  const unanswered: string[] = [];
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
  const { port, close } = await listen(http);
  return { url: `http://127.0.0.1:${port}/v1`, unanswered, close };
}

/** Method and path with the query in a fixed order. */
function describeRequest(method: string, path: string): string {
  const { pathname, searchParams } = new URL(path, 'http://x');
  searchParams.sort();
  return `${method} ${[pathname, ...(searchParams.size > 0 ? [decodeURIComponent(searchParams.toString())] : [])].join('?')}`;
}
