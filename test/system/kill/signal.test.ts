import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { sources } from '../../../src/extract/sources/index.ts';
import { buildCommand, type RunningCommand, startCommand } from '../../helpers/built-command.ts';
import { findTarget, pulledProject, type TestProject, testProject } from '../../helpers/test-project.ts';
import { untilComputed } from '../../helpers/until.ts';
import { findInconsistencies, TIDY_DATA } from '../../helpers/warehouse-checks.ts';

/** The targets to pull: the silent one, and others that have loaded before the signal. */
const TARGETS = ['scaler', 'vault', 'consul'];
const KINDS: readonly unknown[] = ['autoscaler', 'secrets', 'mesh'];
/** Their sources. Without `flavor: hashicorp`, no service says who a token is. */
const SOURCES = sources.filter(({ name, kind }) => name !== 'tokens' && KINDS.includes(kind));
const SILENT = SOURCES.filter(({ kind }) => kind === 'autoscaler').length;
const OTHERS = SOURCES.length - SILENT;

let command: string;
beforeAll(async () => {
  command = await buildCommand();
});

/** A project whose autoscaler accepts connections and never responds. */
async function silent(): Promise<{ place: TestProject; asked: Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket));
  const asked = new Promise<void>((resolve) => {
    server.on('connection', (socket) => socket.once('data', () => resolve()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const place = await testProject({ workspaces: 20 });
  await place.configure((config) => {
    findTarget(config, 'scaler').url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  return { place, asked };
}

const pull = (place: TestProject): RunningCommand =>
  startCommand(
    command,
    ['pull', ...TARGETS.flatMap((target) => ['--target', target]), '--now', place.sandbox.now.toISOString()],
    place.folder,
  );

/** Waits until stderr reports some number of loaded sources. */
async function loaded({ process }: RunningCommand, count: number): Promise<void> {
  let text = '';
  await new Promise<void>((resolve) => {
    process.stderr?.on('data', (more) => {
      text += more;
      if (text.split(' rows (').length > count) resolve();
    });
  });
}

describe.each([
  ['SIGTERM', 1],
  ['SIGINT', 1],
  ['SIGHUP', null], // it ends the process, as without Tidemark
] as const)('%s', (signal, code) => {
  test('ends a run: interrupted, complete sources published, the lock released', async () => {
    const { place, asked } = await silent();
    const child = pull(place);
    await Promise.all([asked, loaded(child, OTHERS)]);
    child.process.kill(signal);
    if (signal === 'SIGHUP') {
      await setTimeout(20); // as the shell and the kernel may, where a terminal closes
      child.process.kill(signal);
    }
    const { exit, stderr } = await child.ended;
    expect(exit, stderr).toBe(code);
    expect(stderr).toMatch(new RegExp(`scaler: 2 sources failed: stopped by ${signal} \\(autoscaler_health, `, 'u'));
    expect(await readdir(join(place.folder, 'data'))).toEqual(TIDY_DATA);
    expect(await findInconsistencies(join(place.folder, 'data', 'warehouse.duckdb'))).toEqual([]);
    expect(await place.rows('select status from runs')).toEqual([{ status: 'interrupted' }]);
    expect(await place.rows('select status, count(*) as n from pulls group by all order by all')).toEqual([
      { status: 'complete', n: OTHERS },
      { status: 'failed', n: SILENT },
    ]);

    await place.configure((config) => {
      findTarget(config, 'scaler').url = place.sandbox.urls.autoscaler;
    });
    place.sandbox.log.length = 0;
    const next = await pull(place).ended;
    expect(next.exit, next.stderr).toBe(0);
    expect(next.stderr).toContain(`${OTHERS} sources had landed`);
    expect(place.sandbox.log.map(({ kind }) => kind)).toEqual(['autoscaler', 'autoscaler']);
  });
});

test('a command ends although a statement of a file of its user does not', async () => {
  const place = await pulledProject();
  const folder = join(place.folder, 'queries/reports/own');
  await mkdir(folder, { recursive: true });
  const endless = 'select sum(hash(range)) as n from range(9223372036854775807)';
  await writeFile(join(folder, 'summary.sql'), `-- title: Own\n-- sources: workspaces\n${endless}`);
  await mkdir(join(place.folder, 'reports'));
  await writeFile(join(place.folder, 'reports/own.hbs'), '');
  const child = startCommand(command, ['report', 'own'], place.folder);
  await untilComputed(child.process.pid ?? 0, 3); // where what comes before takes longer, this tests less, and passes
  child.process.kill('SIGINT');
  expect((await child.ended).exit).toBe(1);
});
