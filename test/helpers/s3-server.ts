import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Cleanup, tempFolder } from './temp.ts';

/** A real S3 server over a folder: it honours conditional puts and signatures. `.ci/run` builds it. */
const INSTALL = 'go install github.com/versity/versitygw/cmd/versitygw@v1.8.0';
const BUCKET = 'estate';

export interface S3Server {
  readonly bucket: string;
  /** The variables that clients of AWS read. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder with the objects of the bucket. */
  readonly folder: string;
}

/** The program; undefined, with a printed reason, where there is none. */
export function findS3Server(): string | undefined {
  const program = process.env.TIDEMARK_S3_SERVER ?? 'versitygw';
  if (spawnSync(program, ['--version']).status === 0) return program;
  console.log(`${program} is not installed (${INSTALL}): no test of a lake in a bucket runs here`);
  return undefined;
}

/** Starts the server with an empty bucket on a free port of the loopback interface. */
export async function startS3Server(program: string, cleanup: Cleanup): Promise<S3Server> {
  const root = await tempFolder(cleanup);
  const [data, sidecar, versions] = [join(root, 'data'), join(root, 'sidecar'), join(root, 'versions')];
  await mkdir(join(data, BUCKET), { recursive: true });
  await mkdir(sidecar);
  await mkdir(versions);
  const env = { AWS_ACCESS_KEY_ID: 'tester', AWS_SECRET_ACCESS_KEY: 'only-on-loopback-7f3a', AWS_REGION: 'us-east-1' };
  const words = ['--quiet', '--access', env.AWS_ACCESS_KEY_ID, '--secret', env.AWS_SECRET_ACCESS_KEY]
    // Attributes of files are kept beside them: not every file system of a test has extended ones.
    .concat(['posix', '--sidecar', sidecar, '--versioning-dir', versions, data]);
  for (let start = 1; ; start++) {
    const address = `127.0.0.1:${await findFreePort()}`;
    const child = spawn(program, ['--port', address, ...words], { stdio: 'ignore' });
    const ended = once(child, 'exit');
    const endpoint = `http://${address}`;
    if (await Promise.race([waitUntilServing(endpoint), ended.then(() => false)])) {
      cleanup(async () => {
        child.kill();
        await ended;
      });
      return { bucket: BUCKET, env: { ...env, AWS_ENDPOINT_URL: endpoint }, folder: join(data, BUCKET) };
    }
    child.kill();
    // Another process may have taken the port meanwhile.
    if (start === STARTS) throw new Error(`${program} does not serve`);
  }
}

export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { readonly port: number };
  await promisify(server.close.bind(server))();
  return port;
}

const STARTS = 5;
const POLL_MS = 50;
const POLLS = 600;

/** Whether the server answers, and no other one. */
async function waitUntilServing(endpoint: string): Promise<boolean> {
  for (let poll = 0; poll < POLLS; poll++) {
    const answer = await fetch(endpoint).catch(() => undefined);
    if (answer) return answer.headers.get('server') === 'VERSITYGW';
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return false;
}
