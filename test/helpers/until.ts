import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { vi } from 'vitest';

/** Longer than anything takes on a machine under foreign load: it ends a test that hangs, and measures nothing. */
export const PATIENCE = { timeout: 500_000, interval: 20 };

/** Waits until expectations hold. @returns what the last look gave */
export function until<T>(look: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(look, PATIENCE);
}

/**
 * Waits until a process has computed for some seconds, however few of them a busy machine gives it; where there is no table of
 * processes, for as long.
 */
export async function untilComputed(pid: number, seconds: number): Promise<void> {
  if (process.platform !== 'linux') return sleep(seconds * 1000);
  await until(() => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1) ?? '';
    const [userTime, systemTime] = fields.split(' ').slice(11, 13).map(Number); // hundredths of a second
    if (Number(userTime) + Number(systemTime) < seconds * 100) throw new Error(`process ${pid} computes too little`);
  });
}

/**
 * Whether a process runs. One that has ended stays in the table of processes until its parent has asked for its exit code; where
 * there is no such table, a signal tells.
 */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    return !/^[ZX]/u.test(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1) ?? '');
  } catch {
    return process.platform !== 'linux';
  }
}
