import { readFileSync } from 'node:fs';
import { kill, pid } from 'node:process';

/** A process, so that it can be told from a later one with the same number (containers start at 1 again and again). */
export interface ProcessId {
  readonly pid: number;
  /** Undefined where the system does not say. */
  readonly began: string | undefined;
}

export function currentProcess(): ProcessId {
  return { pid, began: startTime(pid) };
}

/** Whether a process of this host still runs. */
export function isAlive({ pid: other, began }: ProcessId): boolean {
  try {
    kill(other, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const now = startTime(other);
  return began === undefined || now === undefined || began === now;
}

/** Boot and clock ticks since then at which a process started: the 22nd field of Linux's /proc/PID/stat. */
function startTime(other: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const afterName = readFileSync(`/proc/${other}/stat`, 'utf8').split(') ').at(-1) ?? '';
    return `${boot} ${afterName.split(' ')[19]}`;
  } catch {
    return undefined; // not Linux, or gone by now
  }
}
