import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { RateWindow, ServiceServer, type ServiceServerOptions } from '../../sandbox/http.ts';
import type { RequestRecord, Service } from '../../sandbox/types.ts';

const echo: Service = {
  kind: 'secrets',
  base: '/v1',
  routes: [
    { method: 'LIST', path: '/things', handle: () => ({ status: 200, body: 'list' }) },
    { method: 'GET', path: '/things', handle: () => ({ status: 200, body: 'get' }) },
    { method: 'POST', path: '/things', writes: true, handle: ({ body }) => ({ status: 200, body: `post ${body}` }) },
    { method: 'GET', path: '/things/:name', handle: ({ params }) => ({ status: 200, body: `name ${params.name}` }) },
    { method: 'GET', path: '/things/best', handle: () => ({ status: 200, body: 'the best' }) },
    { method: 'GET', path: '/many', handle: () => ({ status: 200, body: rows(200_000) }) },
    { method: 'GET', path: '/cut', handle: () => ({ status: 200, body: cut() }) },
  ],
  authenticate: ({ headers }, route) =>
    headers['x-token'] === 'bad' || (route?.writes && headers['x-token'] === 'read')
      ? { status: 403, body: 'no' }
      : undefined,
  error: (status, message) => ({ status, body: message }),
  tick: () => {},
  state: {},
};

let rowsMade = 0;
function* rows(count: number): Generator<string> {
  for (rowsMade = 0; rowsMade < count; rowsMade++) yield `"row ${rowsMade}","${'x'.repeat(80)}"\n`;
}

function* cut(): Generator<string> {
  yield `${'x'.repeat(70_000)}\n`;
  throw new Error('cut');
}

const open: ServiceServer[] = [];
const log: RequestRecord[] = [];

async function serveEcho(options: Partial<ServiceServerOptions> = {}): Promise<ServiceServer> {
  const now = () => new Date('2026-10-01T02:15:00Z');
  const fixed = { service: echo, flavor: 'spec', port: 0, rateHeaders: true, latencyMs: 0, now, log } as const;
  const served = await new ServiceServer({ ...fixed, ...options }).listen();
  open.push(served);
  return served;
}

afterEach(async () => {
  log.length = 0;
  await Promise.all(open.splice(0).map((served) => served.close()));
});

function send(url: string, method: string, agent?: Agent, body?: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, ...(agent ? { agent } : {}) }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Sends bytes in the given pieces on one connection and waits for that many answers. */
function sendRaw(url: string, pieces: readonly string[], answers: number): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    let received = '';
    socket.setNoDelay(true);
    socket.on('error', reject);
    socket.on('data', (part) => {
      received += part.toString();
      const bodies = [...received.matchAll(/content-length: \d+\r\n(?:[^\r]+\r\n)*\r\n([^H]*)/gi)].map(
        (found) => found[1]!,
      );
      if (bodies.length < answers) return;
      socket.destroy();
      resolve(bodies);
    });
    const next = (index: number): void => {
      if (index < pieces.length) socket.write(pieces[index]!, () => setImmediate(next, index + 1));
    };
    next(0);
  });
}

describe('the method LIST', () => {
  test('reaches the service, between other requests on one kept connection', async () => {
    const { url } = await serveEcho();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      for (const [method, body, wanted] of [
        ['LIST', undefined, 'list'],
        ['POST', 'LIST /v1/things HTTP/1.1\r\n\r\n', 'post LIST /v1/things HTTP/1.1\r\n\r\n'],
        ['LIST', undefined, 'list'],
        ['GET', undefined, 'get'],
        ['LIST', undefined, 'list'],
      ] as const) {
        expect(await send(`${url}/v1/things`, method, agent, body)).toEqual({ status: 200, body: wanted });
      }
    } finally {
      agent.destroy();
    }
    expect(log.map(({ method }) => method)).toEqual(['LIST', 'POST', 'LIST', 'GET', 'LIST']);
  });

  test('survives packets of a single byte, and requests that follow at once', async () => {
    const { url } = await serveEcho();
    const list = 'LIST /v1/things HTTP/1.1\r\nhost: x\r\n\r\n';
    const chunked =
      'POST /v1/things HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nLIST \r\n3;a=b\r\n/ x\r\n0\r\n\r\n';
    expect(await sendRaw(url, [...list], 1)).toEqual(['list']);
    expect(await sendRaw(url, [...chunked], 1)).toEqual(['post LIST / x']);
    expect(await sendRaw(url, ['LI', list.slice(2)], 1)).toEqual(['list']);
  });

  test('is also spelled GET ?list=true on the secrets server, and nowhere else', async () => {
    const { url } = await serveEcho();
    expect((await send(`${url}/v1/things?list=true`, 'GET')).body).toBe('list');
    const mesh = await serveEcho({ service: { ...echo, kind: 'mesh' } });
    expect((await send(`${mesh.url}/v1/things?list=true`, 'GET')).body).toBe('get');
  });

  test('input that is not HTTP gets 400 and a closed connection', async () => {
    const { url } = await serveEcho();
    await expect(send(`${url}/v1/things`, 'PURGE')).resolves.toMatchObject({ status: 405 });
    const answer = await new Promise<string>((resolve) => {
      let text = '';
      const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write('NONSENSE\r\n\r\n'));
      socket.on('data', (part) => {
        text += part.toString();
      });
      socket.on('close', () => resolve(text));
    });
    expect(answer).toContain('400 Bad Request');
  });
});

describe('routing', () => {
  test('segments are decoded one by one, and a literal path wins over a name', async () => {
    const { url } = await serveEcho();
    expect((await send(`${url}/v1/things/a%2Fb%20%22c`, 'GET')).body).toBe('name a/b "c');
    expect((await send(`${url}/v1/things/best`, 'GET')).body).toBe('the best');
  });

  test('with flavor hashicorp the path is decoded first, so an encoded slash splits it', async () => {
    const { url } = await serveEcho({ flavor: 'hashicorp' });
    expect((await send(`${url}/v1/things/a%2Fb`, 'GET')).status).toBe(404);
  });

  test('unknown paths, malformed escapes and other bases get 404, a wrong method 405 with Allow', async () => {
    const { url } = await serveEcho();
    expect(await send(`${url}/v1/nothing`, 'GET')).toEqual({
      status: 404,
      body: 'no handler for route "nothing". route entry not found.',
    });
    expect((await send(`${url}/v1/things/%zz`, 'GET')).status).toBe(404);
    expect((await send(`${url}/v2/things`, 'GET')).status).toBe(404);
    const answer = await fetch(`${url}/v1/things`, { method: 'DELETE' });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('LIST, GET, POST');
  });

  test('the token is checked before the route, and for writing', async () => {
    const { url } = await serveEcho();
    const status = async (path: string, token: string, method = 'GET') =>
      (await fetch(`${url}${path}`, { method, headers: { 'x-token': token } })).status;
    expect(await status('/v1/nothing', 'bad')).toBe(403);
    expect(await status('/v1/things', 'read')).toBe(200);
    expect(await status('/v1/things', 'read', 'POST')).toBe(403);
    expect(await status('/v1/things', 'write', 'POST')).toBe(200);
  });
});

describe('the limit', () => {
  test('responds with 429 beyond the rate, with the headers of the limit', async () => {
    const { url } = await serveEcho({ rate: 2 });
    const answers = [];
    for (let count = 0; count < 3; count++) answers.push(await fetch(`${url}/v1/things`));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers.map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual(['1', '0', '0']);
    expect(answers[0]?.headers.get('x-ratelimit-limit')).toBe('2');
    const resetSeconds = Number(answers[2]?.headers.get('x-ratelimit-reset'));
    expect(resetSeconds).toBeGreaterThan(0);
    expect(resetSeconds).toBeLessThanOrEqual(1);
    expect(answers.map(({ headers }) => headers.get('retry-after'))).toEqual([null, null, '1']);
    expect(await answers[2]?.text()).toBe('request path "things": rate limit quota exceeded');
    expect(log.map(({ status }) => status)).toEqual([200, 200, 429]);
  });

  test('works without headers', async () => {
    const { url } = await serveEcho({ rate: 1, rateHeaders: false });
    await fetch(`${url}/v1/things`);
    const refused = await fetch(`${url}/v1/things`);
    expect(refused.status).toBe(429);
    expect([...refused.headers.keys()].filter((name) => /rate|retry/.test(name))).toEqual([]);
  });

  test('counts in windows of a second that begin with a request', () => {
    let nowMs = 5000;
    const window = new RateWindow(2, () => nowMs);
    const allowed = (at: number) => {
      nowMs = at;
      const { isAllowed, remaining, resetSeconds } = window.take();
      return [isAllowed, remaining, resetSeconds];
    };
    expect(allowed(5000)).toEqual([true, 1, 1]);
    expect(allowed(5250)).toEqual([true, 0, 0.75]);
    expect(allowed(5999)).toEqual([false, 0, 0.001]);
    expect(allowed(6000)).toEqual([true, 1, 1]);
  });
});

describe('bodies', () => {
  test('an iterable is streamed, no faster than it is read', async () => {
    const { url } = await serveEcho();
    const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
      request(`${url}/v1/many`, resolve).on('error', reject).end();
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(rowsMade).toBeLessThan(150_000);
    let lines = 0;
    for await (const part of response as AsyncIterable<Buffer>) lines += part.toString('latin1').split('\n').length - 1;
    expect(lines).toBe(200_000);
  });

  test('one that fails half-way cuts the connection', async () => {
    const { url } = await serveEcho();
    const response = await fetch(`${url}/v1/cut`);
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });

  test('a fault hook replaces the response of the service', async () => {
    const { url } = await serveEcho({ faultHook: ({ path }) => (path.endsWith('best') ? { status: 502 } : undefined) });
    expect((await fetch(`${url}/v1/things/best`)).status).toBe(502);
    expect((await fetch(`${url}/v1/things`)).status).toBe(200);
  });

  test('a request is recorded with its query, headers, body and status', async () => {
    const { url } = await serveEcho();
    await fetch(`${url}/v1/things?a=1&b=%20`, { method: 'POST', headers: { 'x-token': 't' }, body: 'text' });
    expect(log).toHaveLength(1);
    expect(log[0]).toMatchObject({
      kind: 'secrets',
      method: 'POST',
      path: '/v1/things',
      query: 'a=1&b=%20',
      body: 'text',
    });
    expect(log[0]).toMatchObject({ status: 200, headers: { 'x-token': 't' } });
  });
});

test('close ends open connections at once', async () => {
  const served = await serveEcho({ latencyMs: 60_000 });
  const answer = fetch(`${served.url}/v1/things`);
  const refused = expect(answer).rejects.toThrow();
  while (log.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  await served.close();
  open.length = 0;
  await refused;
});
