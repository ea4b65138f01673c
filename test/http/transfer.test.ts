import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { TargetKind } from '../../src/config/config.ts';
import type { HttpTimeouts } from '../../src/core/context.ts';
import { BLOCK_BYTES } from '../../src/core/gzip.ts';
import type { FailureKind } from '../../src/http/errors.ts';
import type { DownloadOptions } from '../../src/services/client.ts';
import { mesh, platform, scheduler, secrets } from '../../src/services/index.ts';
import type { Operation } from '../../src/services/operation.ts';
import {
  createTarget,
  createTestClient,
  type Handler,
  startServer,
  type TestServer,
  TOKEN,
} from '../helpers/http-service.ts';

const open: TestServer[] = [];
const folder = mkdtempSync(join(tmpdir(), 'tidemark-test-'));
const file = join(folder, 'rows.csv');
afterEach(() => Promise.all(open.splice(0).map((server) => server.close())));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function ask(kind: TargetKind, operation: Operation, handle: Handler, timeouts: Partial<HttpTimeouts> = {}) {
  const server = await startServer(handle);
  open.push(server);
  const { client, metrics } = createTestClient(createTarget(kind, server.origin), { timeouts });
  const result = await client.call(operation, {}, { metrics }).then(
    (response) => response.text,
    (error: unknown) => error,
  );
  await client.close();
  return { result, requests: server.requests.length, metrics };
}

const json =
  (body: string): Handler =>
  (_request, response) =>
    response.end(body);
const cut: Handler = (_request, response) => {
  response.writeHead(200, { 'content-length': '1000' });
  response.write('{"data":[');
  setTimeout(() => response.socket?.destroy(), 5);
};
const cutChunked: Handler = (_request, response) => {
  response.write('{"data":[');
  setTimeout(() => response.socket?.destroy(), 5);
};
const part: Handler = (_request, response) => void response.writeHead(206).end('{"data":[]}');
const twoLengths: Handler = (_request, response) => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-length: 11\r\ntransfer-encoding: chunked\r\n\r\n';
  response.socket?.end(`${head}b\r\n{"data":[]}\r\n0\r\n\r\n`);
};
const hang: Handler = () => {};
const hangWithin: Handler = (_request, response) => response.write('{"data":[');
const drip: Handler = (_request, response) => {
  const timer = setInterval(() => response.write(' '), 10);
  response.on('close', () => clearInterval(timer));
};

describe('incomplete responses', () => {
  it.each<[string, Handler, FailureKind, number, string, Partial<HttpTimeouts>?]>([
    ['cut before its length', cut, 'truncated', 4, 'cut off'],
    ['cut between chunks', cutChunked, 'truncated', 4, 'cut off'],
    ['a part that was not asked for', part, 'truncated', 4, 'only a part'],
    ['two lengths', twoLengths, 'malformed', 3, 'not valid HTTP'],
    ['nothing at all', hang, 'timeout', 4, 'no response within', { headersMs: 30 }],
    ['a beginning, then nothing', hangWithin, 'timeout', 4, 'no data for', { idleMs: 30 }],
    ['a drip that never ends', drip, 'timeout', 4, 'not finished within', { responseMs: 60 }],
    ['a drip, a byte at a time', drip, 'truncated', 4, 'less than 1 KiB/s for', { slowMs: 60 }],
    ['half a JSON text', json('{"data":[{"id":1}'), 'malformed', 3, 'incomplete JSON object'],
    ['an empty body', json(''), 'malformed', 3, 'an empty body'],
    ['a login page', json('<!DOCTYPE html><title>Sign in</title>'), 'malformed', 3, 'an HTML page titled "Sign in"'],
    ['JSON without data', json('{"meta":{}}'), 'malformed', 3, 'a JSON:API document with `data`'],
    ['data that is null', json('{"data":null}'), 'malformed', 3, 'a JSON:API document with `data`'],
    ['another kind of JSON', json('[1]'), 'malformed', 3, 'JSON array'],
    ['text', json('hello'), 'malformed', 3, 'something else'],
    ['hostile depth', json(`{"data":${'['.repeat(9999)}${']'.repeat(9999)}}`), 'malformed', 3, 'JSON object'],
    ['a hostile size', json(`{"data":"${'x'.repeat(100_000)}"}`), 'too-large', 1, 'larger than 65536 bytes'],
    [
      'headers of hostile size',
      (_request, response) => response.setHeader('x-long', 'x'.repeat(100_000)).end('{"data":[]}'),
      'too-large',
      1,
      'response headers are larger',
    ],
    ...['gzip', 'deflate', 'br'].map((coding): [string, Handler, FailureKind, number, string] => [
      `a body that is not in ${coding}`,
      (_request, response) => response.setHeader('content-encoding', coding).end('nothing that is compressed at all'),
      'truncated',
      4,
      'cannot be decompressed',
    ]),
    [
      'six encodings',
      (_request, response) => response.setHeader('content-encoding', Array(6).fill('gzip').join(', ')).end(),
      'malformed',
      3,
      'too many encodings',
    ],
    [
      'a small transfer that unpacks to a hostile size',
      (_request, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync('x'.repeat(10_000_000))),
      'too-large',
      1,
      'larger than 65536 bytes',
    ],
  ])('%s', async (_, handle, failure, attempts, message, waits) => {
    const timeouts = { maxResponseBytes: 65_536, ...waits };
    const { result, metrics } = await ask('platform', platform.views.list, handle, timeouts);
    expect(result).toMatchObject({ failure, serviceMessage: expect.stringContaining(message) });
    // Counted by the client: on a busy machine, an attempt can time out before the server sees it.
    expect(metrics).toMatchObject({ requests: attempts, retries: attempts - 1 });
  });

  it('JSON that was cut where no length tells so is not taken for another service', async () => {
    const { result } = await ask('platform', platform.views.list, json('{"data":[{"id":1}'));
    expect(result).toMatchObject({ hint: expect.stringContaining('cuts its answers') });
  });

  it.each([
    ['999 Odd', 1, '999 is not a status of HTTP'],
    ['600 Odd', 1, '600 is not a status of HTTP'],
    ['099 Odd', 3, 'the response is not valid HTTP'],
    ['1000 Odd', 3, 'the response is not valid HTTP'],
    ['x', 3, 'the response is not valid HTTP'],
  ])('the status line "%s" is an invalid response, after %d attempts', async (status, attempts, message) => {
    const { result, requests } = await ask('platform', platform.views.list, (_request, response) => {
      response.socket?.end(`HTTP/1.1 ${status}\r\ncontent-length: 2\r\n\r\n{}`);
    });
    expect(result).toMatchObject({ failure: 'malformed', serviceMessage: message });
    expect(requests).toBe(attempts);
  });

  it.each<[TargetKind, Operation, string, string]>([
    ['secrets', secrets.keys.list, '{"data":{}}', '`data.keys`'],
    ['secrets', secrets.kms.list, '{"errors":[]}', '`data.keys`'],
    ['scheduler', scheduler.policies.list, '{"Name":"x"}', 'a JSON array'],
    ['scheduler', scheduler.volumes.list, 'null', 'a JSON array'],
    ['mesh', mesh['ca-roots'].read, '[]', 'a JSON object'],
  ])('%s: another form than documented', async (kind, operation, body, message) => {
    const { result } = await ask(kind, operation, json(body));
    expect(result).toMatchObject({ failure: 'malformed', serviceMessage: expect.stringContaining(message) });
  });

  it('a complete response after one that was cut off', async () => {
    const { result, metrics } = await ask('platform', platform.views.list, (request, response, count) =>
      count === 1 ? cut(request, response, count) : response.end('{"data":[]}'),
    );
    expect(result).toBe('{"data":[]}');
    expect(metrics).toMatchObject({ requests: 2, retries: 1, bytes: 20 });
  });

  it('compressed responses are read', async () => {
    const { result } = await ask('platform', platform.views.list, (_request, response) =>
      response.setHeader('content-encoding', 'gzip').end(gzipSync('{"data":["é"]}')),
    );
    expect(result).toBe('{"data":["é"]}');
  });

  it('the response to a write may be empty, text or JSON, but not a web page, and is not repeated', async () => {
    const server = await startServer((request, response, count) => {
      if (count < 4) response.end(['', 'fine', '{"a":1}'][count - 1]);
      else json('<html></html>')(request, response, count);
    });
    open.push(server);
    const { client } = createTestClient(createTarget('scheduler', server.origin));
    const write = () => client.call(scheduler.policies.delete, { policy_name: 'p' });
    expect([(await write()).text, (await write()).text, (await write()).json()]).toEqual(['', 'fine', { a: 1 }]);
    await expect(write()).rejects.toMatchObject({ failure: 'malformed' });
    expect(server.requests).toHaveLength(4);
  });
});

describe('downloads', () => {
  const text = `"workspace_name"\n${'"näme"\n'.repeat(50_000)}`;
  const whole = {
    status: 200,
    bytes: Buffer.byteLength(text),
    sha256: createHash('sha256').update(text).digest('hex'),
    contentType: 'text/csv',
    bareNulls: [],
    longestLine: expect.any(Number),
    endsWithinValue: false,
  };
  const send =
    (body: string | Buffer, headers: Record<string, string> = {}): Handler =>
    (_request, response) =>
      response.writeHead(200, { 'content-type': 'text/csv', ...headers }).end(body);

  interface Options {
    readonly timeouts?: Partial<HttpTimeouts>;
    readonly validatePreview?: DownloadOptions['validatePreview'];
    readonly into?: string;
  }

  async function download(handle: Handler, { timeouts = {}, validatePreview, into = file }: Options = {}) {
    const server = await startServer(handle);
    open.push(server);
    const { client, metrics } = createTestClient(createTarget('platform', server.origin), { timeouts });
    const options = { metrics, ...(validatePreview && { validatePreview }) };
    const result = await client
      .download(platform.explorer.export, { type: 'workspaces' }, into, options)
      .catch((error: unknown) => error);
    await client.close();
    return { result, requests: server.requests.length, metrics };
  }

  it('are written byte for byte, counted and hashed', async () => {
    const { result, metrics } = await download(send(text));
    expect(result).toEqual(whole);
    expect(readFileSync(file, 'utf8')).toBe(text);
    expect(metrics).toMatchObject({ requests: 1, bytes: whole.bytes });
  });

  it.each([-TOKEN.length, -12, -1, 0, 1])(
    'have known secrets masked, also %i characters from the end of a block',
    async (from) => {
      const before = `${'é'.repeat(BLOCK_BYTES / 2 - 50)}${'x'.repeat(100 + from)}`;
      const { result } = await download(send(`${before}${TOKEN}\nand once more ${TOKEN}`));
      const masked = `${before}***\nand once more ***`;
      expect(readFileSync(file, 'utf8')).toBe(masked);
      const sha256 = createHash('sha256').update(masked).digest('hex');
      expect(result).toMatchObject({ bytes: Buffer.byteLength(masked), sha256 });
    },
  );

  it('are written decompressed', async () => {
    const { result } = await download(send(gzipSync(text), { 'content-encoding': 'gzip' }));
    expect(result).toEqual(whole);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('of a cache are none, if they are of the past', async () => {
    const { result } = await download(send(text, { age: '86400' }));
    expect(result).toMatchObject({ failure: 'server', serviceMessage: 'the answer is stale: it is of 86400 s ago' });
    expect((await download(send(text, { age: '5' }))).result).toEqual(whole);
  });

  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])('cut after %d tenths are repeated into the same file', async (tenths) => {
    const { result, requests } = await download((request, response, count) => {
      if (count > 1) return send(text)(request, response, count);
      response.writeHead(200, { 'content-length': String(whole.bytes) });
      response.write(Buffer.from(text).subarray(0, (whole.bytes * tenths) / 10));
      setTimeout(() => response.socket?.destroy(), 5);
    });
    expect(result).toEqual(whole);
    expect(requests).toBe(2);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('that are always cut fail', async () => {
    const { result, requests } = await download((_request, response) => {
      response.write(text);
      setTimeout(() => response.socket?.destroy(), 5);
    });
    expect(result).toMatchObject({ failure: 'truncated', serviceMessage: expect.stringContaining('cut off') });
    expect(requests).toBe(4);
  });

  it('that arrive a byte at a time fail as if they were cut off', async () => {
    const drop: Handler = (_request, response) => {
      const timer = setInterval(() => response.write('x'), 10);
      response.on('close', () => clearInterval(timer));
    };
    const { result, requests } = await download(drop, { timeouts: { slowMs: 60 } });
    expect(result).toMatchObject({ failure: 'truncated', serviceMessage: expect.stringContaining('1 KiB/s') });
    expect(requests).toBe(4);
  });

  it('have U+FFFD where half of a pair of surrogates was, and are not taken for cut off', async () => {
    const [half, latin] = [Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('é', 'latin1')];
    const { result, metrics } = await download(
      send(Buffer.concat([Buffer.from('"a"\n"x'), half, latin, Buffer.from('"\n')])),
    );
    expect(result).toMatchObject({ status: 200, bytes: 14 });
    expect(readFileSync(file, 'utf8')).toBe('"a"\n"x\uFFFD\uFFFD"\n');
    expect(metrics).toMatchObject({ requests: 1, replaced: 1 });
  });

  it('of garbage in place of a compressed body fail', async () => {
    const { result } = await download(send('no gzip', { 'content-encoding': 'gzip' }));
    expect(result).toMatchObject({ failure: 'truncated' });
  });

  it('of a login page, or rejected by their preview, write nothing and are tried three times', async () => {
    writeFileSync(file, 'as before');
    const page = await download(send('<!doctype html><title>Sign in</title>', { 'content-type': 'text/html' }));
    expect(page.result).toMatchObject({
      failure: 'malformed',
      serviceMessage: 'got an HTML page titled "Sign in" instead of the data',
    });
    expect(page.requests).toBe(3);
    const seen: unknown[] = [];
    const refused = await download(send(text), {
      validatePreview: (preview) => {
        seen.push(preview);
        return 'not the requested header';
      },
    });
    expect(refused.result).toMatchObject({ failure: 'malformed', serviceMessage: 'not the requested header' });
    expect(seen[0]).toMatchObject({ contentType: 'text/csv', firstBytes: expect.stringContaining('workspace_name') });
    expect(readFileSync(file, 'utf8')).toBe('as before');
  });

  it.each([
    ['of which a part is sent that was not asked for', 206, 'truncated'],
    ['that the service accepts, and does not send yet,', 202, 'malformed'],
  ])('%s fail', async (_, status, failure) => {
    const { result } = await download((_request, response) => response.writeHead(status).end(text));
    expect(result).toMatchObject({ failure, status });
  });

  it('of hostile size stop there', async () => {
    const { result, requests } = await download(send(text), { timeouts: { maxDownloadBytes: 1000 } });
    expect(result).toMatchObject({ failure: 'too-large' });
    expect(requests).toBe(1);
  });

  it('with an error status carry its message', async () => {
    const { result } = await download((_request, response) =>
      response.writeHead(404).end('{"errors":["no such view"]}'),
    );
    expect(result).toMatchObject({ failure: 'not-found', status: 404, serviceMessage: 'no such view' });
  });

  it('that cannot be written fail with the error of the file system, without another request', async () => {
    const { result, requests } = await download(send(text), { into: join(folder, 'missing', 'rows.csv') });
    expect(result).toMatchObject({ code: 'ENOENT' });
    expect(requests).toBe(1);
  });

  it.each([
    ['none', '"a","b"\n"null","x"\n', []],
    ['one', '"a","b"\n"x",null\n', ['null']],
    ['one that is first in its line', '"a","b"\nnull,"x"\n', ['null']],
    ['one in capitals', '"a","b"\n"null",NULL\n', ['NULL']],
  ])('report bare nulls: %s', async (_, body, bareNulls) => {
    expect((await download(send(body))).result).toMatchObject({ bareNulls });
  });

  it.each([
    ['last', `short\n${'x'.repeat(5_000_000)}`],
    ['first', `${'x'.repeat(5_000_000)}\nshort\n`],
    ['between others', `${'short\n'.repeat(250_000)}${'x'.repeat(5_000_000)}\n${'short\n'.repeat(250_000)}`],
  ])('report the length of a long line that is %s', async (_, body) => {
    const { longestLine } = (await download(send(body))).result as { longestLine: number };
    expect(longestLine).toBeGreaterThanOrEqual(5_000_000);
    expect(longestLine).toBeLessThan(5_000_010);
  });

  it('report a bare null that two chunks share', async () => {
    for (const split of [1, 2, 3, 4, 5]) {
      const { result } = await download((_request, response) => {
        const body = `${'x'.repeat(5000)},null`;
        response.write(body.slice(0, 5000 + split - 1));
        setTimeout(() => response.end(body.slice(5000 + split - 1)), 3);
      });
      expect([split, result]).toMatchObject([split, { bareNulls: ['null'] }]);
    }
  });
});
