import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { HttpTimeouts } from '../../../src/core/context.ts';
import { cli } from '../../helpers/cli.ts';
import { startWithEmptyWarehouse } from '../../helpers/prepared.ts';
import { readRows } from '../../helpers/rows.ts';
import { type Cleanup, tempFolder } from '../../helpers/temp.ts';
import { startTestSandbox } from '../../helpers/test-sandbox.ts';
import { QUICK } from './quick.ts';

export type SecureServices = Awaited<ReturnType<typeof secureServices>>;

/** An autoscaler behind TLS, with certificates of its own: of an authority, of a server and a client, and a self-signed one. */
export async function secureServices(cleanup: Cleanup) {
  const folder = await tempFolder(cleanup);
  const file = (name: string) => join(folder, name);
  makeCertificates(folder);
  const sandbox = await startTestSandbox({ workspaces: 10 });
  cleanup(() => sandbox.close());
  return {
    /** The autoscaler without TLS. */
    plainUrl: sandbox.urls.autoscaler,
    pem: (name: string) => file(`${name}.pem`),
    key: (name: string) => file(`${name}.key`),
    /** Serves it with a certificate. @returns the port */
    secure: (name: string, more: ServerOptions = {}): Promise<number> => {
      const [cert, key] = [`${name}.pem`, `${name}.key`].map((one) => readFileSync(file(one)));
      const passOn = (request: IncomingMessage, response: ServerResponse) =>
        forward(new URL(request.url ?? '/', sandbox.urls.autoscaler), request, response);
      return listening(createHttpsServer({ cert, key, ...more }, passOn));
    },
  };
}

type OpenSsl = (...words: readonly string[]) => void;

function makeCertificates(folder: string): void {
  const openssl: OpenSsl = (...words) => void execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' });
  certificate(openssl, 'ca', 'Test authority', 'keyUsage=keyCertSign');
  certificate(openssl, 'server', 'localhost', 'subjectAltName=DNS:localhost,IP:127.0.0.1', 'ca');
  certificate(openssl, 'elsewhere', 'elsewhere.example', 'subjectAltName=DNS:elsewhere.example', 'ca');
  certificate(openssl, 'client', 'tidemark', 'extendedKeyUsage=clientAuth', 'ca');
  certificate(openssl, 'self', 'localhost', 'subjectAltName=DNS:localhost');
  endedCertificate(openssl, folder);
}

function certificate(openssl: OpenSsl, name: string, subject: string, extension: string, authority?: string): void {
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
function endedCertificate(openssl: OpenSsl, folder: string): void {
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

/** Sends a request on, and its answer back. */
function forward(to: URL, request: IncomingMessage, response: ServerResponse): void {
  const passed = httpRequest(to, { method: request.method }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  });
  request.pipe(passed);
}

/** @returns the port of a server, which ends with the test */
export async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

interface Asked {
  readonly url: string;
  readonly target?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeouts?: Partial<HttpTimeouts>;
}

/** Pulls from an autoscaler. `rows`: the metrics that were loaded. */
export async function pull({ url, target = {}, env = {}, timeouts = {} }: Asked) {
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
