import { writeFileSync } from 'node:fs';
import { connect as connectTo, createServer as createNetServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { cli } from '../../helpers/cli.ts';
import { cleanAtEnd, tempFolder } from '../../helpers/temp.ts';
import { listening, pull, type SecureServices, secureServices } from './secure-services.ts';

const atEnd = cleanAtEnd();
let services: SecureServices;
beforeAll(async () => {
  services = await secureServices(atEnd);
});

/** A tunnelling proxy that records the destinations. */
async function proxy(): Promise<{ port: number; tunnels: string[] }> {
  const tunnels: string[] = [];
  const server = createNetServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', (data) => {
      const head = data.toString('latin1');
      const to = /^CONNECT (\S+):(\d+)/u.exec(head);
      tunnels.push(`${to?.[1]}:${to?.[2]} ${/proxy-authorization: (\S+ \S+)/iu.exec(head)?.[1] ?? ''}`.trim());
      const beyond = connectTo(Number(to?.[2]), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        socket.pipe(beyond).pipe(socket);
      });
      beyond.on('error', () => socket.destroy());
    });
  });
  return { port: await listening(server), tunnels };
}

describe('a proxy', () => {
  test('is used with HTTPS_PROXY, and its password is not logged', async () => {
    const { port, tunnels } = await proxy();
    const service = await services.secure('server');
    const env = { HTTPS_PROXY: `http://tide:pass-word-1234@127.0.0.1:${port}` };
    const { run, rows } = await pull({
      url: `https://localhost:${service}`,
      target: { caFile: services.pem('ca') },
      env,
    });
    expect(run.exit, run.stderr).toBe(0);
    expect(rows).toBeGreaterThan(0);
    const credentials = Buffer.from('tide:pass-word-1234').toString('base64');
    expect(new Set(tunnels)).toEqual(new Set([`localhost:${service} Basic ${credentials}`]));
    expect(run.stderr).not.toContain('pass-word');
  });

  test('does not disable the verification of the server', async () => {
    const { port } = await proxy();
    const { run } = await pull({
      url: `https://localhost:${await services.secure('self')}`,
      env: { HTTPS_PROXY: `http://127.0.0.1:${port}` },
    });
    expect(run.exit).toBe(3);
    expect(run.stderr).toMatch(/the TLS connection failed: .* or to the authority of the proxy/u);
  });

  test.each(['localhost', '*', 'example.com,localhost'])('is not used if NO_PROXY is %s', async (names) => {
    const { port, tunnels } = await proxy();
    const env = { HTTPS_PROXY: `http://127.0.0.1:${port}`, NO_PROXY: names };
    const { run } = await pull({
      url: `https://localhost:${await services.secure('server')}`,
      target: { caFile: services.pem('ca') },
      env,
    });
    expect(run.exit, run.stderr).toBe(0);
    expect(tunnels).toEqual([]);
  });

  // Two attempts for each of two sources. The fourth is not sent where the target was given up after three.
  test.each<[string, string | undefined, RegExp]>([
    [
      'refuses',
      'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n',
      /the proxy answered 407: \S+: check HTTPS_PROXY.*; 2 requests\)/u,
    ],
    [
      'fails',
      'HTTP/1.1 502 Bad Gateway\r\n\r\n',
      /the proxy answered 502.*the proxy does not reach it.*; [34] requests\)/u,
    ],
    ['hangs up without an answer', '', /no connection through the proxy.*: check HTTPS_PROXY.*; [34] requests\)/u],
    [
      'does not answer',
      undefined,
      // In one line for both sources, or in one for each: where the first ends just before the proxy is given up, its kind differs.
      /no connection through the proxy within 2.0 s: .*check HTTPS_PROXY/u,
    ],
    ['speaks no HTTP', 'x\r\n\r\n', /the answer of the proxy is not valid HTTP: check HTTPS_PROXY.*; [34] requests\)/u],
  ])('that %s is reported', async (_, answer, says) => {
    const port = await listening(
      createNetServer((socket) => {
        socket.on('error', () => socket.destroy());
        if (answer !== undefined) socket.once('data', () => socket.end(answer));
      }),
    );
    const env = { HTTPS_PROXY: `http://127.0.0.1:${port}` };
    const url = `https://localhost:${await services.secure('server')}`;
    const timeouts = answer === undefined ? { connectMs: 1000 } : {}; // the proxy itself accepts in less
    const { run } = await pull({ url, target: { caFile: services.pem('ca') }, env, timeouts });
    expect(run.exit).toBe(3);
    expect(run.stderr).toMatch(says);
  });

  test('may be given without a scheme', async () => {
    const { port, tunnels } = await proxy();
    const service = await services.secure('server');
    const env = { HTTPS_PROXY: `127.0.0.1:${port}` };
    const { run } = await pull({ url: `https://localhost:${service}`, target: { caFile: services.pem('ca') }, env });
    expect(run.exit, run.stderr).toBe(0);
    expect(new Set(tunnels)).toEqual(new Set([`localhost:${service}`]));
  });

  test.each([
    ['::::', 'not a URL'],
    ['http://tide:pass%word-1234@127.0.0.1:9', 'not a URL'],
    ['socks5://tide:word-1234@127.0.0.1:9', 'not an HTTP proxy'],
    ['socks5h://tide:word-1234@127.0.0.1:9', 'not an HTTP proxy'],
    ['ftp://tide:word-1234@127.0.0.1:9', 'not an HTTP proxy'],
  ])('of the URL %s is a mistake, which is not shown: %s', async (url, says) => {
    const cwd = await tempFolder();
    writeFileSync(
      join(cwd, 'tidemark.yaml'),
      'targets:\n  - { name: scaler, kind: autoscaler, url: "https://localhost:1" }\n',
    );
    const run = await cli(['pull'], { cwd, env: { HTTPS_PROXY: url } });
    expect(run.exit, run.stderr).toBe(2);
    expect(run.stderr).toContain(`HTTPS_PROXY in the environment is ${says}`);
    expect(run.stderr).not.toContain('word-1234');
  });

  test('that is unreachable is reported, without its password', async () => {
    const env = { HTTPS_PROXY: 'http://tide:pass-word-1234@127.0.0.1:9' };
    const { run } = await pull({
      url: `https://localhost:${await services.secure('server')}`,
      target: { caFile: services.pem('ca') },
      env,
    });
    expect(run.exit).toBe(3);
    expect(run.stderr).toMatch(/the proxy refused the connection \(ECONNREFUSED\).*check HTTPS_PROXY/u);
    expect(run.stderr).not.toContain('pass-word');
  });

  test.each<[string, string, () => Promise<number>, RegExp]>([
    ['has no name', 'http://proxy.invalid', async () => 9, /no connection to the proxy \(E\w+\).*check HTTPS_PROXY/u],
    [
      'is not trusted',
      'https://localhost',
      () => services.secure('self'),
      /to the proxy failed: .*set NODE_EXTRA_CA_CERTS/u,
    ],
    [
      'has no TLS',
      'https://localhost',
      () => listening(createNetServer((socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 \r\n\r\n')))),
      /to the proxy failed: ERR_SSL_WRONG_VERSION_NUMBER: .*begin the URL in HTTPS_PROXY or HTTP_PROXY with http:/u,
    ],
  ])('that %s is not called a fault of the service', async (_, origin, listen, says) => {
    const { run } = await pull({
      url: `https://localhost:${await services.secure('server')}`,
      target: { caFile: services.pem('ca') },
      env: { HTTPS_PROXY: `${origin}:${await listen()}` },
    });
    expect(run.exit).toBe(3);
    expect(run.stderr).toMatch(says);
  });

  test('that answers a tunnel with a page of its own is not the service', async () => {
    const page = 'HTTP/1.1 200 OK\r\n\r\n<html></html>';
    const port = await listening(createNetServer((socket) => void socket.once('data', () => socket.end(page))));
    const { run } = await pull({ url: 'http://localhost:65000', env: { HTTP_PROXY: `http://127.0.0.1:${port}` } });
    expect(run.stderr).toMatch(/no connection through the proxy: .*check HTTPS_PROXY/u);
  });
});
