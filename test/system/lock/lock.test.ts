import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { acquireLock } from '../../../src/warehouse/lock.ts';
import { tempFolder } from '../../helpers/temp.ts';
import { contend, lockModule } from './contend.ts';

const HOLDER = join(PACKAGE_ROOT, 'test', 'helpers', 'holder.js');

/** A process that holds a lock. `check` asks it whether it may go on. */
async function startHolder(file: string, maxPauseMs: number) {
  const child = spawn(process.execPath, [HOLDER, await lockModule(), file, String(maxPauseMs)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const readLine = async () => String((await lines.next()).value);
  expect(await readLine()).toBe('held');
  const check = () => {
    child.stdin.write('\n');
    return readLine();
  };
  return { child, check };
}

test('of several processes that contend for a lock, one at a time holds it, also when some are killed', () =>
  contend({ processes: 4, rounds: 50, kills: 4 }));

test('a process that is stopped keeps its lock, and notices the pause when it continues', async () => {
  const file = join(await tempFolder(), 'lock');
  const { child, check } = await startHolder(file, 1_500);
  child.kill('SIGSTOP');
  for (let tries = 0; tries < 5; tries++) {
    await sleep(500);
    await expect(acquireLock(file, 'a contender')).rejects.toThrow(
      new RegExp(`locked by a holder \\(process ${child.pid} on`, 'u'),
    );
  }
  child.kill('SIGCONT');
  expect(await check()).toMatch(/^the process was stopped for \d+ s$/u);
  child.stdin.end();
  await once(child, 'close');
  await (await acquireLock(file, 'a contender')).release();
});

test('a process that is killed releases its lock at once', async () => {
  const file = join(await tempFolder(), 'lock');
  const { child } = await startHolder(file, 1_000);
  child.kill('SIGKILL');
  await once(child, 'close');
  const lock = await acquireLock(file, 'the next');
  expect(JSON.parse(await readFile(`${file}.owner`, 'utf8'))).toMatchObject({
    fence: 2,
    owner: { purpose: 'the next' },
  });
  await lock.release();
});
