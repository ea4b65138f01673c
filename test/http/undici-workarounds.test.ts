import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DEFAULT_TIMEOUTS } from '../../src/core/context.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { createTransport } from '../../src/http/transport.ts';

const BODY = Buffer.alloc(400_000, 'row,of,a,table\n');

/** A service that sends its response and closes at once, whether or not it was read. */
async function serve(respond: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => respond(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Reads a response only after the connection has ended, and then slowly. */
async function readSlowly(url: string): Promise<number> {
  const timeouts = DEFAULT_TIMEOUTS;
  const transport = createTransport({ concurrency: 1, env: {}, timeouts, redactor: new Redactor() });
  onTestFinished(() => transport.close());
  const response = await transport.fetch(url);
  await new Promise((resolve) => setTimeout(resolve, 50));
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return bytes;
}

const head = (fields: string) => `HTTP/1.1 200 OK\r\nconnection: close\r\n${fields}\r\n`;
const chunk = (data: Buffer) =>
  Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n')]);

describe('a connection that ends while its response is being read', () => {
  test.each<[string, string, Buffer]>([
    ['of a stated length', `content-length: ${BODY.length}\r\n`, BODY],
    ['in chunks', 'transfer-encoding: chunked\r\n', Buffer.concat([chunk(BODY), Buffer.from('0\r\n\r\n')])],
    ['that ends with the connection', '', BODY],
  ])('gives all of a response %s', async (_, fields, body) => {
    const url = await serve((socket) => socket.end(Buffer.concat([Buffer.from(head(fields)), body])));
    expect(await readSlowly(url)).toBe(BODY.length);
  });

  test.each<[string, string, Buffer]>([
    ['of a stated length', `content-length: ${BODY.length + 1}\r\n`, BODY],
    ['in chunks', 'transfer-encoding: chunked\r\n', chunk(BODY)],
  ])('fails where a response %s is cut off, and nothing else does', async (_, fields, body) => {
    const url = await serve((socket) => socket.end(Buffer.concat([Buffer.from(head(fields)), body])));
    await expect(readSlowly(url)).rejects.toThrow('terminated');
  });

  test('is released when nobody reads the response', async () => {
    const url = await serve((socket) => socket.end(Buffer.concat([Buffer.from(head('')), BODY])));
    const transport = createTransport({
      concurrency: 1,
      env: {},
      timeouts: DEFAULT_TIMEOUTS,
      redactor: new Redactor(),
    });
    const response = await transport.fetch(url);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await response.body?.cancel();
    await transport.close();
  });
});
