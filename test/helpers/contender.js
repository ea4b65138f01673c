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

/**
 * A contender that was killed inside leaves the file behind. The kernel gives its lock away before its parent has seen it end, so
 * that a process which still exists is waited for. One that is really inside changes or removes the file.
 */
async function enter() {
  try {
    writeFileSync(`${file}.inside`, String(process.pid), { flag: 'wx' });
    return;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  const other = readInside();
  if (other === '') await sleep(1_000); // it was killed before it wrote its number, or it writes now
  while (readInside() === other && Number(other) > 0 && isAlive(Number(other))) await sleep(5);
  if (other === undefined || readInside() !== other) throw new Error(`process ${other} is inside as well`);
  writeFileSync(`${file}.inside`, String(process.pid));
}

function readInside() {
  try {
    return readFileSync(`${file}.inside`, 'utf8');
  } catch {
    return undefined;
  }
}

for (let round = 0; round < Number(rounds); round++) {
  const lock = await acquire();
  await enter();
  const count = Number(readFileSync(`${file}.count`, 'utf8'));
  lock.assertHeld();
  await sleep(0);
  appendFileSync(`${file}.fences`, `${lock.fence}\n`);
  writeFileSync(`${file}.count`, String(count + 1));
  rmSync(`${file}.inside`);
  await lock.release();
}
