import { gzipSync } from 'node:zlib';
import { type Fault, formatHeader, send, type Upstream } from './fault-proxy.ts';

/** Faults of the transfer, by name. */

const saying =
  (change: (answer: Upstream) => Partial<Upstream>): Fault =>
  (socket, answer) =>
    send(socket, { ...answer, ...change(answer) });

const text = (body: string): { body: Buffer } => ({ body: Buffer.from(body) });
export const status = (code: number, headers: Record<string, string> = {}, body = ''): Fault =>
  saying(() => ({ status: code, headers, ...text(body) }));

export const reset: Fault = (socket) => void socket.resetAndDestroy();
export const hang: Fault = () => undefined;

export const resetWithin: Fault = (socket, answer) => {
  socket.write(formatHeader(answer, { 'content-length': answer.body.length }));
  socket.write(answer.body.subarray(0, Math.floor(answer.body.length / 2)), () => socket.resetAndDestroy());
};

/** One byte at a time: never idle, never complete. */
export const drip: Fault = (socket, answer) => {
  socket.write(formatHeader(answer, { 'content-length': answer.body.length + 1_000_000 }));
  const timer = setInterval(() => socket.write(' '), 20);
  socket.on('close', () => clearInterval(timer));
};

function upTo({ body }: Upstream, tenths: number): Buffer {
  return body.subarray(0, Math.floor((body.length * (tenths % 10)) / 10));
}

/** Truncates after some tenths, one more with each request; the content length shows it. */
export const cutFrom =
  (tenths: number): Fault =>
  (socket, answer, { before }) => {
    socket.write(formatHeader(answer, { 'content-length': answer.body.length }));
    socket.end(upTo(answer, tenths + before));
  };

/** The same without a content length: the end of the connection looks like the end of the response. */
export const quietlyCutFrom =
  (tenths: number): Fault =>
  (socket, answer, { before }) => {
    socket.write(formatHeader(answer, {}));
    socket.end(upTo(answer, tenths + before));
  };

/** Truncates at the end of a line or of an item, so that the rest is well-formed. */
export const cutBetweenLines: Fault = (socket, answer) => {
  const half = answer.body.indexOf('\n', Math.floor(answer.body.length / 2));
  socket.write(formatHeader(answer, {}));
  socket.end(answer.body.subarray(0, half < 0 ? Math.floor(answer.body.length / 2) : half + 1));
};

export const tooLittlePromised: Fault = (socket, answer) => {
  socket.write(formatHeader(answer, { 'content-length': Math.floor(answer.body.length / 2) }));
  socket.end(answer.body);
};

export const tooMuchPromised: Fault = (socket, answer) => {
  socket.write(formatHeader(answer, { 'content-length': answer.body.length + 10 }));
  socket.end(answer.body);
};

export const garbage = saying(({ body }) => ({
  body: Buffer.from(Array.from({ length: Math.max(100, body.length) }, (_, index) => (index * 7919 + 13) % 256)),
}));
export const noHttp: Fault = (socket) => void socket.end('SSH-2.0-OpenSSH_9.7\r\n');
export const wrongType = saying(() => ({
  headers: { 'content-type': 'application/json' },
  ...text('{"hello": ["world"]}'),
}));
export const wrongScalar = saying(() => ({ headers: { 'content-type': 'application/json' }, ...text('42') }));
export const html = saying(() => ({
  headers: { 'content-type': 'text/html' },
  ...text('<!doctype html><html><title>Sign in</title><body>user, password</body></html>'),
}));
export const empty = saying(() => text(''));
export const nothing = status(204);
export const unauthorized = status(401, {}, '{"errors": ["no"]}');
export const failing = status(500, {}, 'Internal Server Error');
export const unavailable = status(503);
export const throttled = status(429);
export const retryAfter =
  (value: string | (() => string)): Fault =>
  (socket, answer, asked) =>
    status(429, { 'retry-after': typeof value === 'string' ? value : value() })(socket, answer, asked);
export const redirect = (to: string): Fault => status(302, { location: to });
export const redirectInCircles: Fault = (socket, answer, { url }) =>
  send(socket, { ...answer, status: 302, headers: { location: url } });

export const deep = saying(() => text(`${'['.repeat(100_000)}${']'.repeat(100_000)}`));
/** Small on the wire, and 40 MiB unpacked. */
export const bomb = saying(({ headers }) => {
  bombBody ??= gzipSync(Buffer.alloc(40 * 1024 * 1024, 0x20));
  return { headers: { ...headers, 'content-encoding': 'gzip' }, body: bombBody };
});
let bombBody: Buffer | undefined;

export const brokenGzip = saying(({ headers, body }) => ({
  headers: { ...headers, 'content-encoding': 'gzip' },
  body: gzipSync(body).subarray(0, 20),
}));
