import { spawn } from 'node:child_process';
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { acquireLock, currentProcess, isAlive } from '../../src/warehouse/lock.ts';
import { tempFolder } from '../helpers/temp.ts';
import { testProject } from '../helpers/test-project.ts';

const lockFile = async () => join(await tempFolder(), 'data', 'lock');

/** A lock of another owner, last touched some seconds ago. */
async function leave(file: string, holder: Record<string, unknown> | string, silentSeconds = 0): Promise<void> {
  const give = await acquireLock(file, 'to make the folder');
  await give();
  await writeFile(
    file,
    typeof holder === 'string' ? holder : JSON.stringify({ id: 'x', purpose: 'nightly', ...holder }),
  );
  const at = new Date(Date.now() - silentSeconds * 1000);
  await utimes(file, at, at);
}

/** The number of a process that has ended. */
async function endedProcess(): Promise<number> {
  const child = spawn(process.execPath, ['-e', '0']);
  await new Promise((resolve) => child.on('close', resolve));
  return child.pid!;
}

const since = new Date(Date.now() - 300_000).toISOString();
const here = { host: hostname(), since };

describe('the lock', () => {
  test('stops a second run with 6, naming the owner and the age, and admits it afterwards', async () => {
    const place = await testProject({ workspaces: 10 });
    const give = await acquireLock(
      join(place.folder, 'data', 'lock'),
      'nightly',
      new Date(place.sandbox.now.getTime() - 180_000),
    );
    const refused = await place.tidemark(['pull', '--target', 'scaler']);
    expect(refused.exit).toBe(6);
    expect(refused.stderr).toMatch(
      new RegExp(`locked by nightly \\(process ${process.pid} on ${hostname()}\\) for 3 min\\n.*data/lock`, 'u'),
    );
    expect(place.sandbox.log).toEqual([]);
    await give();
    await place.pull(['--target', 'scaler']);
    expect(await readdir(join(place.folder, 'data'))).not.toContain('lock');
  });

  test('of a process that has ended is taken over at once', async () => {
    const file = await lockFile();
    await leave(file, { ...here, pid: await endedProcess(), startTime: undefined });
    const give = await acquireLock(file, 'pull');
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ pid: process.pid, purpose: 'pull' });
    await give();
  });

  test('of a process whose number was reused is taken over, as in containers', async () => {
    const file = await lockFile();
    await leave(file, { ...here, pid: process.pid, startTime: 'another-boot 12345' });
    await (await acquireLock(file, 'pull'))();
  });

  test('of the same process is kept: two jobs of one daemon', async () => {
    const file = await lockFile();
    const give = await acquireLock(file, 'nightly');
    await expect(acquireLock(file, 'weekly')).rejects.toMatchObject({ code: 'LOCKED' });
    await give();
  });

  test('of another host is kept while it is touched, and taken over a minute later', async () => {
    const file = await lockFile();
    await leave(file, { pid: 1, host: 'elsewhere', since }, 30);
    await expect(acquireLock(file, 'pull')).rejects.toThrow(/process 1 on elsewhere\) for 5 min/u);
    await leave(file, { pid: 1, host: 'elsewhere', since }, 90).catch(() => undefined);
    const old = new Date(Date.now() - 90_000);
    await utimes(file, old, old);
    await (await acquireLock(file, 'pull'))();
  });

  test.each(['', '{', 'null', '[]', '{"pid":"1"}'])(
    'that reads %j is nobody’s after a minute, and kept before',
    async (text) => {
      const file = await lockFile();
      await leave(file, text, 10);
      await expect(acquireLock(file, 'pull')).rejects.toMatchObject({ code: 'LOCKED' });
      const old = new Date(Date.now() - 90_000);
      await utimes(file, old, old);
      await (await acquireLock(file, 'pull'))();
    },
  );

  test('that is stale goes to one of many processes', async () => {
    const file = await lockFile();
    await leave(file, { ...here, pid: await endedProcess() });
    const takers = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => acquireLock(file, `taker ${index}`)),
    );
    expect(takers.filter(({ status }) => status === 'fulfilled').length).toBe(1);
  });

  test('that was taken over is not released by its former owner', async () => {
    const file = await lockFile();
    const giveLost = await acquireLock(file, 'slept through');
    const old = new Date(Date.now() - 90_000);
    await utimes(file, old, old);
    const give = await acquireLock(file, 'pull');
    await giveLost();
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ purpose: 'pull' });
    await give();
    expect(await readdir(join(file, '..'))).toEqual([]);
  });
});

test('a process differs from a later one with the same number', () => {
  expect(isAlive(currentProcess())).toBe(true);
  expect(isAlive({ ...currentProcess(), startTime: 'before the last start of the machine' })).toBe(
    process.platform !== 'linux',
  );
});
