import { request as httpRequest } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** The complete response of the service. */
export interface Upstream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface Asked {
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  /** The number of earlier requests with the same fault. */
  readonly before: number;
}

/** Writes a faulty response to the raw socket. */
export type Fault = (socket: Socket, answer: Upstream, asked: Asked) => void;

export interface FaultProxy {
  readonly url: string;
  /** All requests, with their headers. */
  readonly heads: string[];
  /** From now on, breaks responses to matching requests: some number of them, or all. */
  break(path: RegExp, fault: Fault, times: number): void;
  mend(): void;
  close(): Promise<void>;
}

/**
 * Stands on 127.0.0.1 before a service, request by request. `shape` changes what the service behind says even in good times.
 */
export async function faultProxy(
  upstream: string,
  shape: (answer: Upstream, asked: Asked) => Upstream = (answer) => answer,
): Promise<FaultProxy> {
  let broken: { path: RegExp; fault: Fault; left: number; met: number } | undefined;
  const heads: string[] = [];
  const sockets = new Set<Socket>();

  const answer = async (socket: Socket, head: string, body: Buffer): Promise<void> => {
    heads.push(head);
    const [line = '', ...fields] = head.split('\r\n');
    const [method = '', url = ''] = line.split(' ');
    const plain = shape(await ask(upstream, method, url, fields, body), { method, url, before: 0 });
    if (broken && broken.left > 0 && broken.path.test(decodeURIComponent(url))) {
      broken.left--;
      broken.fault(socket, plain, { method, url, before: broken.met++ });
    } else send(socket, plain);
  };

  const server = createServer((socket) => {
    sockets.add(socket);
    let text = '';
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
    socket.on('data', (data) => {
      text += data.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = text.slice(0, end);
      const body = Buffer.from(text.slice(end + 4), 'latin1');
      if (body.length < Number(/^content-length: *(\d+)/imu.exec(head)?.[1] ?? 0)) return;
      text = '';
      answer(socket, head, body).catch(() => socket.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heads,
    break: (path, fault, times) => {
      broken = { path, fault, left: times, met: 0 };
    },
    mend: () => {
      broken = undefined;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function ask(origin: string, method: string, url: string, fields: readonly string[], body: Buffer): Promise<Upstream> {
  const headers = Object.fromEntries(
    fields
      .map((field) => field.split(/:\s*/u, 2) as [string, string])
      .filter(([name]) => !/^(?:host|connection|accept-encoding)$/iu.test(name)),
  );
  return new Promise((resolve, reject) => {
    const asking = httpRequest(new URL(url, origin), { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => {
        const kept = Object.entries(response.headers).filter(
          ([name]) => !/^(?:transfer-encoding|connection|keep-alive|content-length)$/u.test(name),
        );
        resolve({
          status: response.statusCode ?? 0,
          headers: Object.fromEntries(kept.map(([name, value]) => [name, String(value)])),
          body: Buffer.concat(chunks),
        });
      });
    });
    asking.on('error', reject);
    asking.end(body);
  });
}

/** The header of a response as sent. */
export function formatHeader({ status, headers }: Upstream, more: Readonly<Record<string, string | number>>): string {
  const fields = Object.entries({ ...headers, ...more, connection: 'close' });
  return `HTTP/1.1 ${status} Said\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/** Sends an intact response. */
export function send(socket: Socket, answer: Upstream): void {
  socket.write(formatHeader(answer, { 'content-length': answer.body.length }));
  socket.end(answer.body);
}
