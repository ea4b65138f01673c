/**
 * Acquires a lock again and again, and fails if it is not alone while it holds it.
 * Arguments: module of the lock, lock file, rounds. Files beside the lock: `inside` exists while it is held, `count` has the rounds
 * of all contenders, `fences` their fencing numbers.
 */
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const [, , module, file, rounds] = process.argv;
const { acquireLock } = await import(module);

async function acquire() {
  for (;;) {
    try {
      return await acquireLock(file, `contender ${process.pid}`);
    } catch (error) {
      if (error.code !== 'LOCKED') throw error;
      await sleep(Math.random() * 4);
    }
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A contender that was killed inside leaves the file behind. */
function enter() {
  try {
    writeFileSync(`${file}.inside`, String(process.pid), { flag: 'wx' });
  } catch {
    const other = Number(readFileSync(`${file}.inside`, 'utf8'));
    if (other > 0 && isAlive(other)) throw new Error(`process ${other} is inside as well`);
    writeFileSync(`${file}.inside`, String(process.pid));
  }
}

for (let round = 0; round < Number(rounds); round++) {
  const lock = await acquire();
  enter();
  const count = Number(readFileSync(`${file}.count`, 'utf8'));
  lock.assertHeld();
  await sleep(0);
  appendFileSync(`${file}.fences`, `${lock.fence}\n`);
  writeFileSync(`${file}.count`, String(count + 1));
  rmSync(`${file}.inside`);
  await lock.release();
}
