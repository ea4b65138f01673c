import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { acquireLock, LockError, monitorPauses } from '../../src/warehouse/lock.ts';
import { tempFolder } from '../helpers/temp.ts';
import { testProject } from '../helpers/test-project.ts';

const lockFile = async () => join(await tempFolder(), 'data', 'lock');

async function readFence(file: string): Promise<number> {
  return (JSON.parse(await readFile(`${file}.owner`, 'utf8')) as { fence: number }).fence;
}

describe('the lock', () => {
  test('stops a second run with 6, naming purpose, process, host and time of the holder, and admits it afterwards', async () => {
    const place = await testProject({ workspaces: 10 });
    const since = new Date(place.sandbox.now.getTime() - 180_000);
    const lock = await acquireLock(join(place.folder, 'data', 'lock'), 'nightly', since);
    const refused = await place.tidemark(['pull', '--target', 'scaler']);
    expect(refused.exit).toBe(6);
    expect(refused.stderr).toMatch(
      new RegExp(
        `locked by nightly \\(process ${process.pid} on ${hostname()}\\) since ${since.toISOString()}, for 3 min\\n.*data/lock`,
        'u',
      ),
    );
    expect(place.sandbox.log).toEqual([]);
    await lock.release();
    await place.pull(['--target', 'scaler']);
  });

  test('excludes a second holder in the same process: two jobs of one daemon', async () => {
    const file = await lockFile();
    const lock = await acquireLock(file, 'nightly');
    await expect(acquireLock(file, 'weekly')).rejects.toMatchObject({ code: 'LOCKED' });
    lock.assertHeld(); // a refused contender does not release it
    await lock.release();
    await (await acquireLock(file, 'weekly')).release();
  });

  test('outlives a reader of its file in the same process', async () => {
    const file = await lockFile();
    const lock = await acquireLock(file, 'nightly');
    await readFile(file);
    await expect(acquireLock(file, 'weekly')).rejects.toMatchObject({ code: 'LOCKED' });
    await lock.release();
  });

  test('goes to one of many contenders', async () => {
    const file = await lockFile();
    const ends = await Promise.allSettled(Array.from({ length: 20 }, (_, index) => acquireLock(file, `job ${index}`)));
    expect(ends.filter(({ status }) => status === 'fulfilled').length).toBe(1);
  });

  test('increments its fencing number at each acquisition, in a file that outlives the holders', async () => {
    const file = await lockFile();
    for (const expected of [1, 2, 3]) {
      const lock = await acquireLock(file, 'pull');
      expect([lock.fence, await readFence(file)]).toEqual([expected, expected]);
      await lock.release();
    }
    expect((await readdir(join(file, '..'))).sort()).toEqual(['lock', 'lock.owner']);
  });

  test('is lost, and says to whom, when its file was removed and another process took it', async () => {
    const file = await lockFile();
    const first = await acquireLock(file, 'nightly');
    await rm(file);
    expect(() => first.assertHeld()).toThrow(LockError);
    expect(() => first.assertHeld()).toThrow(/lock was removed/u);
    const second = await acquireLock(file, 'plan p1');
    expect(() => first.assertHeld()).toThrow(/nightly lost its lock: it was taken by plan p1 \(process \d+ on/u);
    await first.release();
    second.assertHeld(); // the former holder released nothing that is not its own
    await second.release();
  });

  test('is lost when its number changed, as after a takeover on a network file system', async () => {
    const file = await lockFile();
    const lock = await acquireLock(file, 'nightly');
    await writeFile(`${file}.owner`, JSON.stringify({ fence: 1, id: 'another', owner: null }));
    expect(() => lock.assertHeld()).toThrow(/nightly lost its lock/u);
    await rm(`${file}.owner`);
    expect(() => lock.assertHeld()).toThrow(LockError);
    await lock.release();
  });

  test.each([new Date('1990-01-01T00:00:00Z'), new Date('2090-01-01T00:00:00Z')])(
    'is kept when the clock jumps to %s',
    async (jumped) => {
      const file = await lockFile();
      const lock = await acquireLock(file, 'nightly', undefined, 5_000);
      vi.useFakeTimers({ toFake: ['Date'], now: jumped });
      try {
        lock.assertUnpaused();
        const refused = acquireLock(file, 'weekly');
        await expect(refused).rejects.toThrow(/locked by nightly \(process \d+ on .*\) since \d{4}-/u);
        await expect(refused).rejects.not.toThrow(/for -/u);
      } finally {
        vi.useRealTimers();
      }
      await lock.release();
    },
  );

  test.each(['', '{', 'null', '[]', '{"fence":"1"}'])('with an owner file that reads %j is an error', async (text) => {
    const file = await lockFile();
    await (await acquireLock(file, 'pull')).release();
    await writeFile(`${file}.owner`, text);
    await expect(acquireLock(file, 'pull')).rejects.toMatchObject({ code: 'DATA', message: /lock\.owner is damaged/u });
    await rm(`${file}.owner`);
    await (await acquireLock(file, 'pull')).release();
  });

  test.each(['lock', 'lock.owner'])('is an error of one line where %s is a folder', async (name) => {
    const place = await testProject({ workspaces: 10 });
    await mkdir(join(place.folder, 'data', name), { recursive: true });
    const { exit, stderr } = await place.tidemark(['pull', '--target', 'scaler']);
    expect(exit).toBe(4);
    expect(stderr).toMatch(new RegExp(`^error: .*data/${name} is a folder\\n {2}move it away.*\\n$`, 'u'));
  });
});

describe('a pause', () => {
  test('is noticed, and a clock that only the wall sees is not one', () => {
    let sinceBoot = 100;
    const pauses = monitorPauses(() => sinceBoot);
    expect(pauses.longestMs()).toBe(0);
    sinceBoot += 66;
    expect(pauses.longestMs()).toBe(66_000);
    sinceBoot += 1;
    expect(pauses.longestMs()).toBe(66_000);
    pauses.stop();
  });

  test('ends what depends on earlier reads, and not what must be recorded', async () => {
    const lock = await acquireLock(await lockFile(), 'plan p1', undefined, -1);
    lock.assertHeld();
    expect(() => lock.assertUnpaused()).toThrow(/the process was stopped for 0 s/u);
    await lock.release();
  });
});
