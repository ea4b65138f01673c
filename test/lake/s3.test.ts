import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLocalCopies, parseListing } from '../../src/lake/s3/store.ts';
import type { LakeStore } from '../../src/lake/store.ts';
import { cli } from '../helpers/cli.ts';
import { type Handler, startServer } from '../helpers/http-service.ts';
import { withStore } from '../helpers/lake-store.ts';
import { tempFolder } from '../helpers/temp.ts';

/** Answers of stores that the real server of the system tests never gives. */

const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCY';
const SESSION = 'session-token-that-is-secret';
const LAKE = 's3://estate/fleet/lake';

async function startStore(handle: Handler) {
  const server = await startServer(handle);
  onTestFinished(server.close);
  const env = {
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    AWS_SECRET_ACCESS_KEY: SECRET,
    AWS_SESSION_TOKEN: SESSION,
    AWS_ENDPOINT_URL: server.origin,
  };
  return { env, requests: server.requests };
}

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
      response.writeHead(200, { 'content-length': '60' });
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(timer));
    });
    const slow = { slowMs: 200 };
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

describe('lists', () => {
  test('are read to the last page, with keys as they are', async () => {
    const page = (key: string, next?: string) =>
      `<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>${next !== undefined}</IsTruncated>
      <Contents><Key>fleet/lake/t/${key}</Key><LastModified>2026-10-01T00:00:00.000Z</LastModified><Size>5</Size></Contents>
      ${next === undefined ? '' : `<NextContinuationToken>${next}</NextContinuationToken>`}</ListBucketResult>`;
    const { env, requests } = await startStore((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://store');
      response.end(
        searchParams.get('continuation-token') === 'a&b' ? page('b') : page('month%3D2026-10/a+b', 'a&amp;b'),
      );
    });
    expect(await withStore(LAKE, env, (store) => store.list('t'))).toEqual([
      { path: 't/b', bytes: 5, modifiedMs: Date.UTC(2026, 9, 1) },
      { path: 't/month=2026-10/a b', bytes: 5, modifiedMs: Date.UTC(2026, 9, 1) },
    ]);
    expect(requests.map(({ url }) => new URL(url, 'http://store').searchParams.get('prefix'))).toEqual([
      'fleet/lake/t/',
      'fleet/lake/t/',
    ]);
  });

  test.each([
    ['<html>sign in</html>', 'another document'],
    [
      '<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>',
      'a page without the place of the next one',
    ],
    [
      '<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>100%</Key></Contents></ListBucketResult>',
      'a key that is no URL',
    ],
    [
      '<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a</Key></Contents>',
      'a page that is cut off between two files',
    ],
    ['<ListBucketResult><Contents><Key>a</Key></ListBucketResult>', 'a file that does not end'],
    ['<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>', 'a file without a key'],
    ['<ListBucketResult><CommonPrefixes></CommonPrefixes></ListBucketResult>', 'a folder without a name'],
    ['<ListBucketResult><IsTruncated>True</IsTruncated></ListBucketResult>', 'more pages, said in another way'],
    ['<ListBucketResult><Contents xmlns=""><Key>a</Key></Contents></ListBucketResult>', 'a file in another form'],
    [
      '<ListBucketResult><CommonPrefixes xmlns=""><Prefix>a/</Prefix></CommonPrefixes></ListBucketResult>',
      'a folder in another form',
    ],
  ])('are refused where files would be missing: %s', (xml) => {
    expect(() => parseListing(xml)).toThrow('does not answer with a complete list');
  });

  test.each([
    ['of another folder', (store: LakeStore) => store.list('t'), '<Contents><Key>fleet/lake/u/a</Key></Contents>'],
    [
      'of another lake',
      (store: LakeStore) => store.folders(),
      '<CommonPrefixes><Prefix>other/</Prefix></CommonPrefixes>',
    ],
  ])('with files %s, as where a proxy drops the query, are refused', async (_, read, xml) => {
    const { env } = await startStore((_request, response) =>
      response.end(`<ListBucketResult>${xml}</ListBucketResult>`),
    );
    await expect(withStore<unknown>(LAKE, env, read)).rejects.toMatchObject({ code: 'DATA' });
  });

  test('of a store that does not know where to begin have only what was asked for', async () => {
    const contents = ['1', '2', '3'].map((name) => `<Contents><Key>fleet/lake/t/${name}</Key></Contents>`).join('');
    const { env } = await startStore((_, response) => response.end(`<ListBucketResult>${contents}</ListBucketResult>`));
    expect(await withStore(LAKE, env, (store) => store.list('t', 't/2'))).toMatchObject([{ path: 't/3' }]);
  });

  test('leave out keys that name another object in a URL: vacuum would remove that', async () => {
    const keys = ['t/../u/a', 't/./a', 't/..', 't/..a/b.', 't/%2E%2E/u'];
    const contents = keys.map((key) => `<Contents><Key>fleet/lake/${key}</Key></Contents>`).join('');
    const { env } = await startStore((_, response) =>
      response.end(`<ListBucketResult><EncodingType>url</EncodingType>${contents}</ListBucketResult>`),
    );
    expect(await withStore(LAKE, env, (store) => store.list('t'))).toMatchObject([{ path: 't/..a/b.' }]);
  });

  test('have a further page where its place is named, whatever else is not', () => {
    const xml = '<ListBucketResult><NextContinuationToken>a</NextContinuationToken></ListBucketResult>';
    expect(parseListing(xml)).toMatchObject({ next: 'a' });
  });

  test.each(['EncodingType', 'Encoding-Type'])('say in %s that keys are encoded', (name) => {
    const xml = `<${name}>url</${name}><Contents><Key>a%3D1/b+c%2B</Key></Contents>`;
    expect(parseListing(`<ListBucketResult>${xml}</ListBucketResult>`)).toMatchObject({
      objects: [{ path: 'a=1/b c+' }],
    });
  });

  test.each([
    ['each page names the same next one', ['a'], 2],
    ['the pages name each other', ['a', 'b'], 3],
  ])('that never end, because %s, are refused', async (_, tokens, count) => {
    let asked = 0;
    const { env, requests } = await startStore((_request, response) =>
      response.end(
        `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>${tokens[asked++ % tokens.length]}</NextContinuationToken></ListBucketResult>`,
      ),
    );
    await expect(withStore(LAKE, env, (store) => store.list('t'))).rejects.toMatchObject({
      code: 'DATA',
      message: expect.stringContaining('does not answer with a complete list'),
    });
    expect(requests).toHaveLength(count);
  });

  test('are read in the time of one reading, also where no element ends', () => {
    const start = performance.now();
    const begun = '<Contents><Key>'.repeat(100_000);
    expect(() => parseListing(`<ListBucketResult>${begun}</ListBucketResult>`)).toThrow('complete list');
    expect(() => parseListing('<ListBucketResult'.repeat(100_000))).toThrow('complete list');
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  test('that never end, because each page names another next one, are refused', async () => {
    let pages = 0;
    const { env } = await startStore((_, response) => {
      const next = `<NextContinuationToken>${++pages}</NextContinuationToken>`;
      response.end(`<ListBucketResult><IsTruncated>true</IsTruncated>${next}</ListBucketResult>`);
    });
    await expect(withStore(LAKE, env, (store) => store.list('t'))).rejects.toMatchObject({
      code: 'DATA',
      message: expect.stringContaining('does not answer with a complete list'),
    });
  });

  test('have a thousand keys of the longest kind in a page', async () => {
    const key = `fleet/lake/t/${'%C3%BC'.repeat(505)}`;
    const contents = `<Contents><Key>${key}</Key><Size>1</Size></Contents>`.repeat(1_000);
    const { env } = await startStore((_, response) =>
      response.end(`<ListBucketResult><EncodingType>url</EncodingType>${contents}</ListBucketResult>`),
    );
    expect(await withStore(LAKE, env, (store) => store.list('t'))).toHaveLength(1_000);
  });

  test('keep what a key has that XML escapes', () => {
    const xml =
      '<Contents><Key>a&lt;&amp;&#x41;&#66;&unknown;</Key><Size>1</Size></Contents><CommonPrefixes><Prefix>p/</Prefix>';
    expect(parseListing(`<ListBucketResult>${xml}</CommonPrefixes></ListBucketResult>`)).toMatchObject({
      objects: [{ path: 'a<&AB&unknown;', bytes: 1 }],
      prefixes: ['p/'],
      next: undefined,
    });
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
