import { request as httpRequest } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** What a service does with a request that changes something, and what it answers. */
export type Lie =
  | 'done but 500'
  | 'done then reset'
  | 'hang but done'
  | '2xx not done'
  | 'shown late'
  | 'done late'
  | 'done after the lag';

export interface LyingProxy {
  readonly url: string;
  /** Method and path of every request that changes something, in the order in which they came. */
  readonly writes: string[];
  /** The lie of the next requests that change something; undefined to tell the truth. */
  lie: Lie | undefined;
  /** How late the service shows a change (`shown late`) or makes it (`done late`). */
  lateMs: number;
  /** Makes the changes that were held back, and waits until late ones are made. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** A proxy on the loopback interface before a service of the sandbox. It lies about requests that change something. */
export async function lyingProxy(upstream: string): Promise<LyingProxy> {
  const sockets = new Set<Socket>();
  const late = new Set<Promise<unknown>>();
  const writes: string[] = [];
  /** Requests that the service does only when it settles. */
  const held: Asked[] = [];
  /** The last answer to each read, which a service that shows changes late repeats. */
  const shown = new Map<string, Answer>();
  let staleUntilMs = 0;

  const later = (asked: Asked, ms: number): void => {
    const done = new Promise((resolve) => setTimeout(resolve, ms)).then(() => forward(upstream, asked));
    late.add(done);
    done.finally(() => late.delete(done));
  };

  const read = async (socket: Socket, asked: Asked): Promise<void> => {
    const key = `${asked.method} ${asked.url}`;
    const stale = performance.now() < staleUntilMs ? shown.get(key) : undefined;
    const answer = stale ?? (await forward(upstream, asked));
    if (!stale) shown.set(key, answer);
    send(socket, answer);
  };

  const write = async (socket: Socket, asked: Asked): Promise<void> => {
    writes.push(`${asked.method} ${asked.url}`);
    switch (proxy.lie) {
      case 'done but 500':
        await forward(upstream, asked);
        return send(socket, failure(500));
      case 'done then reset':
        await forward(upstream, asked);
        socket.resetAndDestroy();
        return;
      case 'hang but done':
        await forward(upstream, asked);
        return;
      case '2xx not done':
        return send(socket, { status: 204, headers: {}, body: Buffer.alloc(0) });
      case 'shown late':
        staleUntilMs = performance.now() + proxy.lateMs;
        return send(socket, await forward(upstream, asked));
      case 'done late':
        later(asked, proxy.lateMs);
        return send(socket, failure(504));
      case 'done after the lag':
        held.push(asked);
        return send(socket, failure(504));
      default:
        return send(socket, await forward(upstream, asked));
    }
  };

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
    receive(socket, (asked) => {
      const isRead = ['GET', 'LIST'].includes(asked.method);
      (isRead ? read : write)(socket, asked).catch(() => socket.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: LyingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${new URL(upstream).pathname}`,
    writes,
    lie: undefined,
    lateMs: 0,
    settle: async () => {
      await Promise.all(late);
      for (const asked of held.splice(0)) await forward(upstream, asked);
      staleUntilMs = 0;
      shown.clear();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return proxy;
}

/** One request per connection. The method LIST is not known to Node's HTTP server. */
function receive(socket: Socket, onRequest: (asked: Asked) => void): void {
  let data = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    data = Buffer.concat([data, chunk]);
    const end = data.indexOf('\r\n\r\n');
    if (end < 0) return;
    const [line = '', ...fields] = data.subarray(0, end).toString('latin1').split('\r\n');
    const headers = Object.fromEntries(
      fields.map((field) => [
        field.slice(0, field.indexOf(':')).toLowerCase(),
        field.slice(field.indexOf(':') + 1).trim(),
      ]),
    );
    const length = Number(headers['content-length'] ?? 0);
    const body = data.subarray(end + 4);
    if (body.length < length) return;
    data = Buffer.alloc(0);
    const [method = '', url = ''] = line.split(' ');
    onRequest({ method, url, headers, body: Buffer.from(body) });
  });
}

function forward(upstream: string, { method, url, headers, body }: Asked): Promise<Answer> {
  const { host: _h, connection: _c, 'accept-encoding': _e, ...kept } = headers;
  return new Promise((resolve, reject) => {
    const sent = httpRequest(new URL(url, upstream), { method, headers: kept, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => {
        const fields = Object.entries(response.headers).filter(
          ([name]) => !/^(?:transfer-encoding|connection|keep-alive|content-length)$/u.test(name),
        );
        const text = Object.fromEntries(fields.map(([name, value]) => [name, String(value)]));
        resolve({ status: response.statusCode ?? 0, headers: text, body: Buffer.concat(chunks) });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function failure(status: number): Answer {
  return { status, headers: { 'content-type': 'text/plain' }, body: Buffer.from('the upstream did not answer') };
}

function send(socket: Socket, { status, headers, body }: Answer): undefined {
  const length = status === 204 ? {} : { 'content-length': body.length };
  const fields = Object.entries({ ...headers, ...length, connection: 'close' });
  socket.write(`HTTP/1.1 ${status} Said\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
  socket.end(status === 204 ? Buffer.alloc(0) : body);
}
