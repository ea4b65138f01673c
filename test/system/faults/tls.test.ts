import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import { type AddressInfo, connect as connectTo, createServer as createNetServer, type Server } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { HttpTimeouts } from '../../../src/core/context.ts';
import { cli } from '../../helpers/cli.ts';
import { startWithEmptyWarehouse } from '../../helpers/prepared.ts';
import { readRows } from '../../helpers/rows.ts';
import { cleanAtEnd, tempFolder } from '../../helpers/temp.ts';
import { startTestSandbox } from '../../helpers/test-sandbox.ts';
import { QUICK } from './quick.ts';

const atEnd = cleanAtEnd();

/** A certificate authority, its certificates of a server and a client, and a self-signed one. */
let folder: string;
let sandbox: Awaited<ReturnType<typeof startTestSandbox>>;
const pem = (name: string) => join(folder, `${name}.pem`);

function openssl(...words: readonly string[]): void {
  execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' });
}

function certificate(name: string, subject: string, extension: string, authority?: string): void {
  const by = authority === undefined ? [] : ['-CA', `${authority}.pem`, '-CAkey', `${authority}.key`];
  openssl(
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '2',
    '-subj',
    `/CN=${subject}`,
    '-addext',
    extension,
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.pem`,
    ...by,
  );
}

/** Of the server, for a day of the past. */
function endedCertificate(): void {
  openssl('req', '-new', '-key', 'server.key', '-subj', '/CN=localhost', '-out', 'ended.csr');
  writeFileSync(join(folder, 'ended.index'), '');
  writeFileSync(join(folder, 'ended.cnf'), ENDED_CONFIG);
  openssl('ca', '-batch', '-config', 'ended.cnf', '-in', 'ended.csr', '-out', 'ended.pem');
  copyFileSync(join(folder, 'server.key'), join(folder, 'ended.key'));
}

const ENDED_CONFIG = `[ca]
default_ca = d
[d]
database = ended.index
rand_serial = yes
new_certs_dir = .
certificate = ca.pem
private_key = ca.key
default_md = sha256
default_startdate = 20200101000000Z
default_enddate = 20200102000000Z
policy = p
[p]
commonName = supplied
`;

beforeAll(async () => {
  folder = await tempFolder(atEnd);
  certificate('ca', 'Test authority', 'keyUsage=keyCertSign');
  certificate('server', 'localhost', 'subjectAltName=DNS:localhost,IP:127.0.0.1', 'ca');
  certificate('elsewhere', 'elsewhere.example', 'subjectAltName=DNS:elsewhere.example', 'ca');
  certificate('client', 'tidemark', 'extendedKeyUsage=clientAuth', 'ca');
  certificate('self', 'localhost', 'subjectAltName=DNS:localhost');
  endedCertificate();
  sandbox = await startTestSandbox({ workspaces: 10 });
  atEnd(() => sandbox.close());
});

/** Forwards everything to the sandbox's autoscaler. */
function passOn(request: IncomingMessage, response: ServerResponse): void {
  const passed = httpRequest(
    new URL(request.url ?? '/', sandbox.urls.autoscaler),
    { method: request.method },
    (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    },
  );
  request.pipe(passed);
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const secure = (name: string, more: ServerOptions = {}): Promise<number> =>
  listening(
    createHttpsServer(
      { cert: readFileSync(pem(name)), key: readFileSync(join(folder, `${name}.key`)), ...more },
      passOn,
    ),
  );

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

interface Asked {
  readonly url: string;
  readonly target?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeouts?: Partial<HttpTimeouts>;
}

async function pull({ url, target = {}, env = {}, timeouts = {} }: Asked) {
  const cwd = await tempFolder();
  const fields = Object.entries(target).map(([name, value]) => `, ${name}: ${value}`);
  writeFileSync(
    join(cwd, 'tidemark.yaml'),
    `targets:\n  - { name: scaler, kind: autoscaler, url: "${url}"${fields.join('')} }\n`,
  );
  await startWithEmptyWarehouse(join(cwd, 'data'));
  const run = await cli(['pull'], { cwd, env, timeouts: { ...QUICK, attempts: 2, ...timeouts } });
  const [row] = await readRows(join(cwd, 'data', 'warehouse.duckdb'), 'select count(*) as n from autoscaler_metrics');
  return { run, rows: Number(row?.n) };
}

const OLD_TLS: ServerOptions = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' };

describe('TLS', () => {
  test('is verified by the authority that caFile names', async () => {
    const { run, rows } = await pull({
      url: `https://localhost:${await secure('server')}`,
      target: { caFile: pem('ca') },
    });
    expect(run.exit, run.stderr).toBe(0);
    expect(rows).toBeGreaterThan(0);
  });

  test.each<[string, string, string | undefined, RegExp, string, ServerOptions?]>([
    [
      'an authority that is not known',
      'server',
      undefined,
      /UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER/u,
      'set `caFile`',
    ],
    ['a certificate that nobody signed', 'self', 'ca', /DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_VERIFY/u, 'set `caFile`'],
    ['a certificate of another host', 'elsewhere', 'ca', /ERR_TLS_CERT_ALTNAME_INVALID/u, 'write a host'],
    ['a certificate that has ended', 'ended', 'ca', /CERT_HAS_EXPIRED/u, 'renew the certificate'],
    ['old TLS', 'server', 'ca', /ERR_SSL_\w+/u, 'it must speak TLS 1.2', OLD_TLS],
  ])('rejects %s at once, with a hint', async (_, name, authority, code, hint, more) => {
    const target = authority === undefined ? {} : { caFile: pem(authority) };
    const { run, rows } = await pull({ url: `https://localhost:${await secure(name, more)}`, target });
    expect(run.exit).toBe(3);
    expect(run.stderr).toMatch(
      new RegExp(`the TLS connection failed: (?:${code.source}): https://localhost:\\d+: ${hint}`, 'u'),
    );
    expect(run.stderr).toContain('(autoscaler_health, autoscaler_metrics; 2 requests)');
    expect(rows).toBe(0);
  });

  test('https of a service that has none names the port and http:', async () => {
    const { run } = await pull({ url: sandbox.urls.autoscaler.replace('http:', 'https:') });
    expect(run.stderr).toMatch(
      /ERR_SSL_WRONG_VERSION_NUMBER: https:[^ ]+: check the port in `url` .* write http: where/u,
    );
  });

  test('is verified whatever NODE_TLS_REJECT_UNAUTHORIZED is', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { run } = await pull({ url: `https://localhost:${await secure('self')}` });
    expect(run.stderr).toContain('the TLS connection failed');
  });

  test('presents the client certificate on request', async () => {
    const url = `https://localhost:${await secure('server', { ca: readFileSync(pem('ca')), requestCert: true, rejectUnauthorized: true })}`;
    const without = await pull({ url, target: { caFile: pem('ca') } });
    expect(without.run.exit).toBe(3);
    const target = { caFile: pem('ca'), clientCert: pem('client'), clientKey: join(folder, 'client.key') };
    const { run, rows } = await pull({ url, target });
    expect(run.exit, run.stderr).toBe(0);
    expect(rows).toBeGreaterThan(0);
  });

  test('with an unreadable certificate file is a configuration error', async () => {
    const cwd = await tempFolder();
    writeFileSync(
      join(cwd, 'tidemark.yaml'),
      'targets:\n  - { name: scaler, kind: autoscaler, url: "https://localhost:1", caFile: none.pem }\n',
    );
    const run = await cli(['pull'], { cwd });
    expect(run.exit, run.stderr).toBe(2);
    expect(run.stderr).toContain('none.pem');
  });
});

describe('a proxy', () => {
  test('is used with HTTPS_PROXY, and its password is not logged', async () => {
    const { port, tunnels } = await proxy();
    const service = await secure('server');
    const env = { HTTPS_PROXY: `http://tide:pass-word-1234@127.0.0.1:${port}` };
    const { run, rows } = await pull({ url: `https://localhost:${service}`, target: { caFile: pem('ca') }, env });
    expect(run.exit, run.stderr).toBe(0);
    expect(rows).toBeGreaterThan(0);
    const credentials = Buffer.from('tide:pass-word-1234').toString('base64');
    expect(new Set(tunnels)).toEqual(new Set([`localhost:${service} Basic ${credentials}`]));
    expect(run.stderr).not.toContain('pass-word');
  });

  test('does not disable the verification of the server', async () => {
    const { port } = await proxy();
    const { run } = await pull({
      url: `https://localhost:${await secure('self')}`,
      env: { HTTPS_PROXY: `http://127.0.0.1:${port}` },
    });
    expect(run.exit).toBe(3);
    expect(run.stderr).toMatch(/the TLS connection failed: .* or to the authority of the proxy/u);
  });

  test.each(['localhost', '*', 'example.com,localhost'])('is not used if NO_PROXY is %s', async (names) => {
    const { port, tunnels } = await proxy();
    const env = { HTTPS_PROXY: `http://127.0.0.1:${port}`, NO_PROXY: names };
    const { run } = await pull({
      url: `https://localhost:${await secure('server')}`,
      target: { caFile: pem('ca') },
      env,
    });
    expect(run.exit, run.stderr).toBe(0);
    expect(tunnels).toEqual([]);
  });

  test.each<[string, string | undefined, RegExp]>([
    [
      'refuses',
      'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n',
      /the proxy answered 407: \S+: check HTTPS_PROXY.*; 2 requests\)/u,
    ],
    [
      'fails',
      'HTTP/1.1 502 Bad Gateway\r\n\r\n',
      /the proxy answered 502.*the proxy does not reach it.*; 4 requests\)/u,
    ],
    ['hangs up without an answer', '', /no connection through the proxy.*: check HTTPS_PROXY.*; 4 requests\)/u],
    [
      'does not answer',
      undefined,
      /no connection through the proxy within 0.2 s: .*check HTTPS_PROXY.*; 4 requests\)/u,
    ],
    ['speaks no HTTP', 'x\r\n\r\n', /the answer of the proxy is not valid HTTP: check HTTPS_PROXY.*; 4 requests\)/u],
  ])('that %s is reported', async (_, answer, says) => {
    const port = await listening(
      createNetServer((socket) => {
        socket.on('error', () => socket.destroy());
        if (answer !== undefined) socket.once('data', () => socket.end(answer));
      }),
    );
    const env = { HTTPS_PROXY: `http://127.0.0.1:${port}` };
    const url = `https://localhost:${await secure('server')}`;
    const timeouts = answer === undefined ? { connectMs: 100 } : {};
    const { run } = await pull({ url, target: { caFile: pem('ca') }, env, timeouts });
    expect(run.exit).toBe(3);
    expect(run.stderr).toMatch(says);
  });

  test('may be given without a scheme', async () => {
    const { port, tunnels } = await proxy();
    const service = await secure('server');
    const env = { HTTPS_PROXY: `127.0.0.1:${port}` };
    const { run } = await pull({ url: `https://localhost:${service}`, target: { caFile: pem('ca') }, env });
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
      url: `https://localhost:${await secure('server')}`,
      target: { caFile: pem('ca') },
      env,
    });
    expect(run.exit).toBe(3);
    expect(run.stderr).toMatch(/the proxy refused the connection \(ECONNREFUSED\).*check HTTPS_PROXY/u);
    expect(run.stderr).not.toContain('pass-word');
  });

  test.each<[string, string, () => Promise<number>, RegExp]>([
    ['has no name', 'http://proxy.invalid', async () => 9, /no connection to the proxy \(E\w+\).*check HTTPS_PROXY/u],
    ['is not trusted', 'https://localhost', () => secure('self'), /to the proxy failed: .*set NODE_EXTRA_CA_CERTS/u],
    [
      'has no TLS',
      'https://localhost',
      () => listening(createNetServer((socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 \r\n\r\n')))),
      /to the proxy failed: ERR_SSL_WRONG_VERSION_NUMBER: .*begin the URL in HTTPS_PROXY or HTTP_PROXY with http:/u,
    ],
  ])('that %s is not called a fault of the service', async (_, origin, listen, says) => {
    const { run } = await pull({
      url: `https://localhost:${await secure('server')}`,
      target: { caFile: pem('ca') },
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
