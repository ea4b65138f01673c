import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { HttpTimeouts } from '../../src/core/context.ts';
import { createLocalCopies } from '../../src/lake/s3/store.ts';
import { cli } from '../helpers/cli.ts';
import { withStore } from '../helpers/lake-store.ts';
import { tempFolder } from '../helpers/temp.ts';
import { LAKE, SECRET, SESSION, startStore } from './fake-store.ts';

/** Answers of stores that the real server of the system tests never gives. */

function answer(response: ServerResponse, status: number, code = '', more = ''): void {
  const error = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${SECRET} ${SESSION}</Message>${more}</Error>`;
  response.writeHead(status).end(code === '' ? '' : error);
}

async function writeConfig(cwd: string, lake = './lake'): Promise<string> {
  const file = join(cwd, 'tidemark.yaml');
  await writeFile(
    file,
    `lake: '${lake}'\ntargets:\n  - { name: scaler, kind: autoscaler, url: 'http://127.0.0.1:1' }\n`,
  );
  return file;
}

/** More than a connection holds back. */
const SLOW_BYTES = 2 * 1024 * 1024;

const isProbe = ({ url = '' }: IncomingMessage) => url.includes('/_staging/');
const isConditional = ({ headers }: IncomingMessage) => headers['if-none-match'] === '*';

describe('a store without conditional puts', () => {
  const answerPut = (status: number, code?: string) => (request: IncomingMessage, response: ServerResponse) => {
    if (request.method !== 'PUT') return answer(response, 204);
    return isConditional(request) ? answer(response, status, code) : answer(response, 200);
  };
  /** Looks for the object, and writes it a moment later. */
  const lookThenWrite = () => {
    const objects = new Set<string>();
    return ({ method, url = '' }: IncomingMessage, response: ServerResponse) => {
      if (method === 'DELETE') return answer(response, 204);
      if (objects.has(url)) return answer(response, 412, 'PreconditionFailed');
      setTimeout(() => answer(response, 200, void objects.add(url)), 30);
    };
  };
  test.each([
    ['that ignores the header', answerPut(200), 'has no conditional puts (If-None-Match: *)'],
    ['that refuses the header', answerPut(501, 'NotImplemented'), 'has no conditional puts (If-None-Match: *)'],
    [
      'that looks for the object first',
      lookThenWrite(),
      'has conditional puts (If-None-Match: *) that several writers pass at the same time',
    ],
  ])('%s is refused before anything is written', async (_, handle, what) => {
    const { env, requests } = await startStore(handle);
    const written = withStore(LAKE, env, (store) => store.createIfAbsent('t/_delta_log/0.json', 'x'));
    await expect(written).rejects.toMatchObject({ code: 'UNSAFE', message: `${LAKE}: the object store ${what}` });
    expect(requests.filter(({ url }) => !url.includes('/_staging/'))).toEqual([]);
    const probes = (method: string) => new Set(requests.flatMap((one) => (one.method === method ? [one.url] : [])));
    expect([...probes('PUT')].filter((url) => !probes('DELETE').has(url))).toEqual([]);
  });

  test('is not what a store is called that takes no object of these credentials', async () => {
    const { env, requests } = await startStore(({ method }, response) =>
      method === 'PUT' ? answer(response, 501, 'NotImplemented') : answer(response, 204),
    );
    await expect(withStore(LAKE, env, (store) => store.createIfAbsent('t/a', 'x'))).rejects.toMatchObject({
      code: 'REFUSED',
      message: expect.stringMatching(/PUT _staging\/[0-9a-f]{16}: 501 NotImplemented$/u),
    });
    expect(requests.filter(({ method }) => method === 'PUT')).toHaveLength(1);
  });
});

describe('requests', () => {
  test('are signed with the path, and repeated after failures that pass, with the same body', async () => {
    const bodies: string[] = [];
    const { env, requests } = await startStore((request, response, count) => {
      if (isProbe(request)) return answer(response, count === 1 ? 200 : request.method === 'PUT' ? 412 : 204);
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        bodies.push(body);
        const failures = [
          [503, 'SlowDown'],
          [409, 'ConditionalRequestConflict'],
          [500, 'InternalError'],
        ] as const;
        const [status, code] = failures[bodies.length - 1] ?? [200, ''];
        answer(response, status, code);
      });
    });
    expect(await withStore(LAKE, env, (store) => store.createIfAbsent("t/a=1/ü+'!(*)", 'content'))).toBe(true);
    expect(bodies).toEqual(['content', 'content', 'content', 'content']);
    const [put] = requests.filter(({ url }) => url === '/estate/fleet/lake/t/a%3D1/%C3%BC%2B%27%21%28%2A%29');
    expect(put?.headers).toMatchObject({
      'if-none-match': '*',
      'content-length': '7',
      'x-amz-content-sha256': createHash('sha256').update('content').digest('hex'),
      'content-md5': createHash('md5').update('content').digest('base64'), // without it, Object Lock refuses an object
      'x-amz-security-token': SESSION,
      authorization: expect.stringMatching(
        /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/us-east-1\/s3\/aws4_request,/u,
      ),
    });
  });

  test('ask for no compression, whose cut end nothing would show, and do not sign that, which proxies change', async () => {
    const log = '{"add":1}\n'.repeat(1000);
    const { env, requests } = await startStore(({ headers }, response) => {
      const isCompressed = headers['accept-encoding']?.includes('gzip');
      if (!isCompressed) return void response.end(log);
      response.setHeader('content-encoding', 'gzip').end(gzipSync(log).subarray(0, 40));
    });
    expect(await withStore(LAKE, env, (store) => store.read('t/_delta_log/0.json'))).toBe(log);
    expect(requests[0]?.headers.authorization).not.toContain('accept-encoding');
  });

  test.each([
    [403, 'SignatureDoesNotMatch', /PUT t\/a: 403 SignatureDoesNotMatch$/u, /check AWS_SECRET_ACCESS_KEY/u],
    [404, 'NoSuchBucket', /404 NoSuchBucket$/u, /create the bucket/u],
    [301, 'PermanentRedirect', /301 PermanentRedirect$/u, /set AWS_REGION/u],
    [307, 'TemporaryRedirect', /307 TemporaryRedirect$/u, /set AWS_REGION/u],
    [403, 'InvalidTokenId', /403 InvalidTokenId$/u, /check AWS_SESSION_TOKEN/u],
    [403, 'InvalidObjectState', /403 InvalidObjectState$/u, /restore the object/u],
    [403, 'QuotaExceeded', /403 QuotaExceeded$/u, /make space/u],
    [418, '<script>', /418 without a code of S3$/u, /check/u],
  ])('that are refused with %s %s are one line without what was signed', async (status, code, message, hint) => {
    const signed = `<StringToSign>${SECRET}</StringToSign>`;
    const { env, requests } = await startStore((_, response) => answer(response, status, code, signed));
    const error = await withStore(LAKE, env, (store) => store.put('t/a', 'x')).catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ code: 'REFUSED', message: expect.stringMatching(message) });
    expect(error).toMatchObject({ hint: expect.stringMatching(hint) });
    expect(JSON.stringify([String(error), error])).not.toMatch(/secret|wJalr|script/u);
    expect(requests).toHaveLength(1);
  });

  test('whose empty answer is called HTML are done, and an empty object with that type is one', async () => {
    const { env } = await startStore((request, response) => {
      const status = request.method === 'DELETE' ? 204 : isProbe(request) && isConditional(request) ? 412 : 200;
      response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end();
    });
    await withStore(LAKE, env, async (store) => {
      expect(await store.createIfAbsent('t/_delta_log/0.json', '')).toBe(true);
      await store.put('t/a', 'x');
      expect(await store.read('t/a')).toBe('');
      await store.remove('t/a');
    });
  });

  test('that are answered with an error and 200 are not done: they are repeated if it may pass', async () => {
    const { env, requests } = await startStore((_, response, count) =>
      answer(response, 200, ['', 'InternalError', '', 'AccessDenied'][count] ?? 'SlowDown'),
    );
    await withStore(LAKE, env, async (store) => {
      await store.put('t/a', 'x');
      await expect(store.put('t/a', 'x')).rejects.toMatchObject({ message: `${LAKE}: PUT t/a: 200 AccessDenied` });
      await expect(store.list('t')).rejects.toMatchObject({ message: `${LAKE}: GET the list of files: 200 SlowDown` });
    });
    expect(requests.length).toBeGreaterThan(4);
  });

  test('wait as long as the store asks, and not for longer than two minutes', async () => {
    const { env, requests } = await startStore((_, response, count) => {
      if (count === 1) return void response.writeHead(503, { 'retry-after': '0.1' }).end('<Code>SlowDown</Code>');
      response.writeHead(503, { 'retry-after': '300' }).end('<Code>SlowDown</Code>');
    });
    await expect(withStore(LAKE, env, (store) => store.read('t/a'))).rejects.toMatchObject({
      code: 'REFUSED',
      message: `${LAKE}: GET t/a: 503 asked to wait 300 s: SlowDown`,
    });
    expect(requests).toHaveLength(2);
  });

  test('whose response breaks off are repeated, and one that never ends is refused', async () => {
    const { env } = await startStore((_, response, count) => {
      response.writeHead(200, { 'content-length': '6' }).write('who');
      if (count < 3) response.destroy();
      else response.end('le\n');
    });
    expect(await withStore(LAKE, env, (store) => store.read('t/a'))).toBe('whole\n');
  });

  test('whose response is slower than 1 KiB/s for a minute are repeated as if it broke off', async () => {
    const { env, requests } = await startStore((_, response, count) => {
      if (count > 1) return void response.end('whole');
      response.writeHead(200, { 'content-length': '6000' });
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(timer));
    });
    const slow = { slowMs: 1000 };
    expect(await withStore(LAKE, env, (store) => store.read('t/a'), slow)).toBe('whole');
    expect(requests).toHaveLength(2);
  });

  test('to a store that does not answer fail with what to check', async () => {
    const { env } = await startStore((request) => void request.socket.destroy());
    await expect(withStore(LAKE, env, (store) => store.read('t/a'))).rejects.toMatchObject({
      code: 'UNREACHABLE',
      hint: expect.stringContaining('AWS_ENDPOINT_URL'),
    });
  });
});

test('what is wrong with the TLS of an endpoint names the variables, and no target', async () => {
  const pem = (name: string) => fileURLToPath(new URL(`../http/tls/${name}`, import.meta.url));
  const files = { key: await readFile(pem('server.key')), cert: await readFile(pem('server.pem')) };
  const server = createHttpsServer(files, (_, response) => void response.end('content')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  const plain = await startStore((_, response) => void response.end());
  const read = (AWS_ENDPOINT_URL: string, more: Readonly<Record<string, string>> = {}) =>
    withStore(LAKE, { ...plain.env, AWS_ENDPOINT_URL, ...more }, (store) => store.read('t/a'));
  const endpoint = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await read(endpoint, { AWS_CA_BUNDLE: pem('ca.pem') })).toBe('content');
  await expect(read(endpoint)).rejects.toMatchObject({ hint: 'set AWS_CA_BUNDLE to what the service uses' });
  await expect(read(endpoint, { AWS_CA_BUNDLE: '/missing.pem' })).rejects.toMatchObject({
    message: 'AWS_CA_BUNDLE: /missing.pem does not exist',
  });
  await expect(read(plain.env.AWS_ENDPOINT_URL.replace('http:', 'https:'))).rejects.toMatchObject({
    hint: expect.stringMatching(/^check the port in AWS_ENDPOINT_URL, /u),
  });
});

describe('copies for DuckDB', () => {
  test('are made once, and go when they are released, when the store is closed, and after a day', async () => {
    const parent = join(await tempFolder(), 'lake-files');
    const [old, young] = ['tidemark-query-other-1-old', 'tidemark-query-other-1-young'] as const;
    for (const name of [old, young]) await mkdir(join(parent, name), { recursive: true });
    await utimes(join(parent, old), 0, 0);
    const downloads: string[] = [];
    const copies = createLocalCopies(parent, async (path, file) => {
      downloads.push(path);
      if (path === 'gone') throw Object.assign(new Error('gone'), { code: 'ENOENT' });
      await writeFile(file, path);
    });
    const [a, again] = await Promise.all([copies.locate('a'), copies.locate('a')]);
    expect([await readFile(a, 'utf8'), again, downloads]).toEqual(['a', a, ['a']]);
    await expect(copies.locate('gone')).rejects.toMatchObject({ code: 'ENOENT' });
    await copies.release('gone');
    await copies.release('a');
    expect(existsSync(a)).toBe(false);
    await copies.locate('a');
    await copies.close();
    expect([downloads, await readdir(parent)]).toEqual([['a', 'gone', 'a'], [young]]);
  });
});

describe('the configuration of a lake in a bucket', () => {
  test.each([
    [{}, 'AWS_SECRET_ACCESS_KEY is not set'],
    [{ AWS_SECRET_ACCESS_KEY: SECRET }, 'AWS_ACCESS_KEY_ID is not set'],
    [
      { AWS_SECRET_ACCESS_KEY: SECRET, AWS_ACCESS_KEY_ID: 'a', AWS_ENDPOINT_URL: `http://u:${SECRET}@h` },
      'AWS_ENDPOINT_URL is not',
    ],
  ])('is one line where the environment lacks something', async (env, message) => {
    const cwd = await tempFolder();
    const { exit, stderr } = await cli(['lake', 'verify', '--lake', LAKE, '--config', await writeConfig(cwd)], {
      cwd,
      env,
    });
    expect([exit, stderr.includes(SECRET)]).toEqual([2, false]);
    expect(stderr).toContain(message);
  });

  test.each(['gs://bucket/lake', 's3://', 's3://UPPER/x', 's3://bucket/../x'])(
    'refuses %s, on the command line and in the file',
    async (location) => {
      const cwd = await tempFolder();
      const given = await cli(['lake', 'verify', '--lake', location, '--config', await writeConfig(cwd)], { cwd });
      expect(given).toMatchObject({ exit: 2, stderr: expect.stringContaining('is not the address of a bucket') });
      const written = await cli(['lake', 'verify', '--config', await writeConfig(cwd, location)], { cwd });
      expect(written).toMatchObject({ exit: 2, stderr: expect.stringContaining('lake') });
      expect(written.stderr).toContain('must be a folder or s3://BUCKET/PREFIX');
    },
  );
});

describe('a file', () => {
  const put = (env: Readonly<Record<string, string>>, bytes: number, timeouts: Partial<HttpTimeouts>) =>
    withStore(LAKE, env, (store) => store.putFile('t/a', (file) => writeFile(file, Buffer.alloc(bytes))), timeouts);

  test('that a store takes without an answer is given up', async () => {
    const { env } = await startStore(() => {});
    await expect(put(env, 1000, { headersMs: 50, attempts: 1 })).rejects.toThrow('no response within 0.2 s');
  });

  test('that a store takes slowly is sent to its end', async () => {
    const { env } = await startStore(async (request, response) => {
      let bytes = 0;
      for await (const piece of request) {
        const before = Math.floor(bytes / SLOW_BYTES);
        bytes += (piece as Buffer).length;
        if (Math.floor(bytes / SLOW_BYTES) > before) await delay(150);
      }
      answer(response, 200);
    });
    // A machine that stands still for two seconds fails one attempt.
    await put(env, 20 * SLOW_BYTES, { headersMs: 500, attempts: 3 });
  });
});
