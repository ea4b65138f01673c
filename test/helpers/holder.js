/**
 * Holds a lock until stdin ends. Prints `held`, then for each line of stdin what `assertUnpaused` throws, or `ok`.
 * Arguments: module of the lock, lock file, longest pause in milliseconds.
 */
import { createInterface } from 'node:readline';

const [, , module, file, maxPauseMs] = process.argv;
const { acquireLock } = await import(module);
const lock = await acquireLock(file, 'a holder', new Date(), Number(maxPauseMs));
console.log('held');
for await (const _line of createInterface({ input: process.stdin })) {
  lock.assertHeld();
  try {
    lock.assertUnpaused();
    console.log('ok');
  } catch (error) {
    console.log(error.message);
  }
}
await lock.release();
