import { readFileSync } from 'node:fs';
import { vi } from 'vitest';

/** Longer than anything takes on a machine under foreign load: it ends a test that hangs, and measures nothing. */
const PATIENCE = { timeout: 500_000, interval: 20 };

/** Waits until expectations hold. @returns what the last look gave */
export function until<T>(look: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(look, PATIENCE);
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
