import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect as connectSocket, type Server } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { Target } from '../../src/config/config.ts';
import { platform, scheduler, secrets } from '../../src/services/index.ts';
import {
  createTarget,
  createTestClient,
  type Handler,
  startServer,
  type TestServer,
  TOKEN,
} from '../helpers/http-service.ts';
import { tempFolder } from '../helpers/temp.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.close())));

async function serve(handle: Handler): Promise<TestServer> {
  const server = await startServer(handle);
  open.push(server);
  return server;
}

describe('redirects', () => {
  it.each([307, 308])('%d of a write to its own path is followed with method, body and token', async (status) => {
    const bodies: string[] = [];
    const server = await serve((request, response, count) => {
      if (count === 1) response.writeHead(status, { location: `${server.origin}/v1/acl/policy/p` }).end();
      else request.on('data', (chunk) => bodies.push(String(chunk))).on('end', () => response.end('{}'));
    });
    const body = { Name: 'p', Rules: 'r' };
    await createTestClient(createTarget('scheduler', server.origin)).client.call(
      scheduler.policies.write,
      { policy_name: 'p' },
      { body },
    );
    expect(server.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /v1/acl/policy/p',
      'POST /v1/acl/policy/p',
    ]);
    expect(bodies).toEqual([JSON.stringify(body)]);
    expect(server.requests[1]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
  });

  it.each(['/v1/keymgmt/key/other', '/v1/keymgmt/key/k?x=1'])(
    '307 of a write to %s is not followed',
    async (location) => {
      const server = await serve((_request, response) => response.writeHead(307, { location }).end());
      const { client } = createTestClient(createTarget('secrets', server.origin));
      await expect(client.call(secrets.keys.delete, { name: 'k' })).rejects.toMatchObject({ failure: 'malformed' });
      expect(server.requests).toHaveLength(1);
    },
  );

  it('to a long path are shown in part, and no part of a secret in it', async () => {
    const location = `/${'x'.repeat(590 - 'redirect to '.length)}${TOKEN}`;
    const server = await serve((_request, response) => response.writeHead(307, { location }).end());
    const { client } = createTestClient(createTarget('secrets', server.origin));
    const error = await client.call(secrets.keys.delete, { name: 'k' }).catch((caught: unknown) => caught);
    expect(String(error)).toContain('redirect to /xxx');
    expect(String(error)).not.toContain(TOKEN.slice(0, 5));
  });

  it.each([301, 302, 307])(
    '%d of a read within the origin is followed, also of one that is sent once',
    async (status) => {
      const server = await serve((_request, response, count) => {
        if (count % 2 === 1) response.writeHead(status, { location: '/v1/moved' }).end();
        else response.end('{"data":{"keys":[]}}');
      });
      for (const changed of [{ method: 'GET' }, { method: 'LIST' }, { method: 'GET', retryPolicy: 'never' }] as const)
        await createTestClient(createTarget('secrets', server.origin)).client.call({
          ...secrets.keys.list,
          ...changed,
        });
      expect(server.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
        ...['GET /v1/keymgmt/key', 'GET /v1/moved'],
        ...['LIST /v1/keymgmt/key', 'LIST /v1/moved'],
        ...['GET /v1/keymgmt/key', 'GET /v1/moved'],
      ]);
    },
  );

  it.each([
    [301, secrets.keys.rotate, false],
    [302, secrets.keys.rotate, false],
    [303, secrets.keys.rotate, false],
    [307, secrets.keys.rotate, true],
    [308, secrets.keys.rotate, true],
    [307, secrets['mesh-creds'].generate, true],
  ])(
    '%d of a write is not followed: it would become a read, or be of something else',
    async (status, operation, notProcessed) => {
      const server = await serve((_request, response) => response.writeHead(status, { location: '/v1/x' }).end());
      const { client } = createTestClient(createTarget('secrets', server.origin));
      await expect(client.call(operation, { name: 'k' })).rejects.toMatchObject({
        failure: 'malformed',
        status,
        details: { notProcessed },
      });
      expect(server.requests).toHaveLength(1);
    },
  );

  it.each([301, 302, 307, 308])(
    '%d to another origin is rejected by name, and nothing is sent there',
    async (status) => {
      const other = await serve((_request, response) => response.end('{"data":{"keys":[]}}'));
      const server = await serve((_request, response) =>
        response.writeHead(status, { location: `${other.origin}/v1/keymgmt/key` }).end(),
      );
      const { client } = createTestClient(createTarget('secrets', server.origin));
      await expect(client.call(secrets.keys.list)).rejects.toMatchObject({
        failure: 'malformed',
        status,
        serviceMessage: `redirect to ${other.origin}`,
        hint: expect.stringContaining('not sent to another origin'),
      });
      expect(other.requests).toEqual([]);
      expect(server.requests).toHaveLength(1);
    },
  );

  it('of a token that a destination repeats, no part is shown, wherever the message is cut', async () => {
    for (const length of [180, 195, 980, 990]) {
      const server = await serve((_request, response) =>
        response.writeHead(302, { location: `/v1/${'x'.repeat(length)}${TOKEN}` }).end(),
      );
      const { client } = createTestClient(createTarget('secrets', server.origin));
      const message = await client.call(secrets.keys.list).catch(String);
      expect(message).toMatch(/redirect to \/v1\/x+/u);
      expect(message).not.toContain(TOKEN.slice(0, 4));
    }
  });

  it.each([
    ['with a user and a password', (host: string) => `http://user:its-password@${host}/api/v2/moved`],
    ['of another protocol that names the origin', (host: string) => `blob:http://${host}/api/v2/moved`],
  ])('to an address %s are not followed, and not shown', async (_, to) => {
    const server = await serve((_request, response) =>
      response.writeHead(307, { location: to(new URL(server.origin).host) }).end(),
    );
    const { client } = createTestClient(createTarget('platform', server.origin));
    await expect(client.call(platform.views.list)).rejects.toMatchObject({
      failure: 'malformed',
      serviceMessage: expect.not.stringContaining('its-password'),
    });
    expect(server.requests).toHaveLength(1);
  });

  it('that form a loop end', async () => {
    const server = await serve((_request, response) => response.writeHead(307, { location: '/api/v2/again' }).end());
    await expect(
      createTestClient(createTarget('platform', server.origin)).client.call(platform.views.list),
    ).rejects.toMatchObject({
      failure: 'malformed',
    });
    expect(server.requests).toHaveLength(4);
  });
});

it('cookies are not kept', async () => {
  const server = await serve((_request, response) =>
    response.setHeader('set-cookie', '_atlas_session_data=x').end('{"data":[]}'),
  );
  const { client } = createTestClient(createTarget('platform', server.origin));
  await client.call(platform.views.list);
  await client.call(platform.views.list);
  expect(server.requests[1]?.headers.cookie).toBeUndefined();
});

it.each<[string, Partial<Target>, Record<string, string | undefined>]>([
  ['a bearer token', {}, { authorization: `Bearer ${TOKEN}` }],
  [
    'a token in a custom header',
    { tokenHeader: 'X-Nomad-Token' },
    { 'x-nomad-token': TOKEN, authorization: undefined },
  ],
])('%s', async (_, changes, headers) => {
  const server = await serve((_request, response) => response.end('[]'));
  await createTestClient(createTarget('scheduler', server.origin, changes)).client.call(scheduler.policies.list);
  expect(server.requests[0]?.headers).toMatchObject(
    Object.fromEntries(Object.entries(headers).filter(([, value]) => value)),
  );
  if (!headers.authorization) expect(server.requests[0]?.headers.authorization).toBeUndefined();
});

describe('TLS', () => {
  const pem = (name: string) => fileURLToPath(new URL(`tls/${name}`, import.meta.url));

  async function servedByTls(requestCert = false): Promise<string> {
    const server = createHttpsServer(
      {
        key: readFileSync(pem('server.key')),
        cert: readFileSync(pem('server.pem')),
        ca: readFileSync(pem('ca.pem')),
        requestCert,
        rejectUnauthorized: requestCert,
      },
      (_request, response) => response.end('{"data":[]}'),
    );
    return `https://127.0.0.1:${await listening(server, () => server.closeAllConnections())}`;
  }

  it('is verified: an unknown authority fails at once, with what to set', async () => {
    const { client, metrics } = createTestClient(createTarget('platform', await servedByTls()));
    await expect(client.call(platform.views.list, {}, { metrics })).rejects.toMatchObject({
      failure: 'unreachable',
      serviceMessage: expect.stringContaining('TLS'),
      hint: expect.stringContaining('caFile'),
    });
    expect(metrics.requests).toBe(1);
  });

  it('is verified against caFile, whose comments may have any encoding', async () => {
    const caFile = join(await tempFolder(), 'ca.pem');
    await writeFile(caFile, `# Autorité\n${readFileSync(pem('ca.pem'), 'latin1')}`, 'latin1');
    const { client } = createTestClient(createTarget('platform', await servedByTls(), { caFile }));
    expect((await client.call(platform.views.list)).status).toBe(200);
    await client.close();
  });

  it('sends the client certificate where one is set, and fails without', async () => {
    const origin = await servedByTls(true);
    const without = createTestClient(createTarget('platform', origin, { caFile: pem('ca.pem') }));
    const { metrics } = without;
    await expect(without.client.call(platform.views.list, {}, { metrics })).rejects.toMatchObject({
      code: 'UNREACHABLE',
      serviceMessage: expect.stringMatching(/TLS.*CERTIFICATE_REQUIRED/u),
      hint: expect.stringContaining('clientCert'),
    });
    expect(metrics.requests).toBe(1);
    const certificate = { caFile: pem('ca.pem'), clientCert: pem('client.pem'), clientKey: pem('client.key') };
    const { client } = createTestClient(createTarget('platform', origin, certificate));
    expect((await client.call(platform.views.list)).status).toBe(200);
    await client.close();
  });

  it('names a file that cannot be read', () => {
    expect(() => createTestClient(createTarget('platform', 'https://127.0.0.1:1', { caFile: '/missing.pem' }))).toThrow(
      'caFile: /missing.pem does not exist',
    );
  });
});

it('a port that fetch refuses is no service that is down', async () => {
  const { client, metrics } = createTestClient(createTarget('platform', 'http://127.0.0.1:6000'));
  await expect(client.call(platform.views.list, {}, { metrics })).rejects.toMatchObject({
    failure: 'unreachable',
    message: expect.stringContaining('no request is sent to this port'),
    hint: expect.stringContaining('another port'),
  });
  expect(metrics.retries).toBe(0);
});

describe('proxies', () => {
  interface Proxy {
    readonly url: string;
    readonly tunnels: string[];
    readonly credentials: (string | undefined)[];
  }

  /** @param drops how many tunnels it closes without an answer */
  async function proxy(drops = 0): Promise<Proxy> {
    const tunnels: string[] = [];
    const credentials: (string | undefined)[] = [];
    const server = createHttpServer();
    server.on('connect', (request, socket) => {
      tunnels.push(request.url ?? '');
      credentials.push(request.headers['proxy-authorization']);
      if (tunnels.length <= drops) return void socket.destroy();
      const [host = '', port = ''] = (request.url ?? '').split(':');
      const onward = connectSocket(Number(port), host, () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        onward.pipe(socket).pipe(onward);
      });
      for (const end of [socket, onward]) end.on('error', () => end.destroy());
    });
    const port = await listening(server, () => server.closeAllConnections());
    return { url: `http://user:proxy-password@127.0.0.1:${port}`, tunnels, credentials };
  }

  it('of the environment are used, with their credentials, except for NO_PROXY', async () => {
    const through = await proxy();
    const server = await serve((_request, response) => response.end('{"data":[]}'));
    const target = createTarget('platform', server.origin);
    const proxied = createTestClient(target, { env: { HTTP_PROXY: through.url } });
    await proxied.client.call(platform.views.list);
    expect(through.tunnels).toEqual([new URL(server.origin).host]);
    expect(through.credentials).toEqual([`Basic ${Buffer.from('user:proxy-password').toString('base64')}`]);
    await proxied.client.close();

    const direct = createTestClient(target, { env: { HTTP_PROXY: through.url, NO_PROXY: '127.0.0.1' } });
    await direct.client.call(platform.views.list);
    expect(through.tunnels).toHaveLength(1);
    await direct.client.close();
  });

  it.each(['::1', 'fe80::1%eth0, 0:0::1', '[0:0::1]', '[::1]:49999'])(
    'are not asked for an IPv6 address of NO_PROXY: %s',
    async (names) => {
      const through = await proxy(Number.POSITIVE_INFINITY);
      const target = createTarget('platform', 'http://[::1]:49999');
      const { client } = createTestClient(target, { env: { HTTP_PROXY: through.url, NO_PROXY: names } });
      await expect(client.call(platform.views.list)).rejects.toMatchObject({ failure: 'unreachable' });
      expect(through.tunnels).toEqual([]);
      await client.close();
    },
  );

  it('of this process are not read: only the environment that is passed in counts', async () => {
    const server = await serve((_request, response) => response.end('{"data":[]}'));
    const { client } = createTestClient(createTarget('platform', server.origin), {
      env: { HTTPS_PROXY: 'http://127.0.0.1:1' },
    });
    expect((await client.call(platform.views.list)).status).toBe(200);
    await client.close();
  });

  it('that close a tunnel have sent nothing: a change is sent once another is open', async () => {
    const through = await proxy(1);
    const server = await serve((_request, response) => response.end('{}'));
    const { client } = createTestClient(createTarget('scheduler', server.origin), { env: { HTTP_PROXY: through.url } });
    expect((await client.call(scheduler.policies.delete, { policy_name: 'p' })).status).toBe(200);
    expect([through.tunnels.length, server.requests.length]).toEqual([2, 1]);
    await client.close();
  });

  it('carry TLS to the service itself, verified against caFile', async () => {
    const through = await proxy();
    const tls = (name: string) => fileURLToPath(new URL(`tls/${name}`, import.meta.url));
    const secure = createHttpsServer(
      { key: readFileSync(tls('server.key')), cert: readFileSync(tls('server.pem')) },
      (_request, response) => response.end('{"data":[]}'),
    );
    const origin = `https://127.0.0.1:${await listening(secure, () => secure.closeAllConnections())}`;
    const { client } = createTestClient(createTarget('platform', origin, { caFile: tls('ca.pem') }), {
      env: { HTTPS_PROXY: through.url },
    });
    expect((await client.call(platform.views.list)).status).toBe(200);
    expect(through.tunnels).toEqual([new URL(origin).host]);
    await client.close();
  });
});

/** Listens on a free port of 127.0.0.1 until the test is over. */
async function listening(server: Server, drop: () => void): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push({
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        drop();
      }),
  });
  return (server.address() as AddressInfo).port;
}
