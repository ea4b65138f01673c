import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, mkdir, open, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
// biome-ignore lint/style/noRestrictedImports: only the system knows whether the owner of a lock is alive
import { kill, pid } from 'node:process';
import { TidemarkError } from '../core/errors.ts';

/** A process. The start time tells it from a later process with the same number, as in containers, where numbers begin at 1. */
export interface ProcessId {
  readonly pid: number;
  /** Boot ID and clock ticks since boot; undefined where the system does not report them. */
  readonly startTime: string | undefined;
}

/** The content of a lock file. */
interface LockOwner extends ProcessId {
  /** Unique to this lock. */
  readonly id: string;
  readonly host: string;
  readonly purpose: string;
  /** ISO 8601. */
  readonly since: string;
}

/** How often the owner touches its lock file, and the age from which a lock is stale, whatever its host. */
const HEARTBEAT_MS = 5_000;
const STALE_AFTER_MS = 60_000;

const MAX_ATTEMPTS = 5;

/**
 * Acquires the lock that lets one process at a time write to a warehouse. Takes over a stale lock.
 * @returns the function that releases it.
 * @throws TidemarkError LOCKED naming the owner and the lock's age.
 */
export async function acquireLock(file: string, purpose: string, now = new Date()): Promise<() => Promise<void>> {
  await mkdir(dirname(file), { recursive: true });
  const since = now.toISOString();
  const self: LockOwner = { id: randomUUID(), ...currentProcess(), host: hostname(), purpose, since };
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    if (await createLockFile(file, self)) return keepAlive(file, self);
    const held = await readLock(file);
    if (held === undefined) continue; // released in the meantime
    if (!held.isStale) throw lockedError(file, held.owner, now);
    await reclaim(file, held.owner);
  }
  throw new TidemarkError('LOCKED', `${file} is contended`, { hint: 'run again' });
}

/** Error codes of file systems without hard links. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/** Writes the content before the file gets its name: a lock file is never seen empty. */
async function createLockFile(file: string, owner: LockOwner): Promise<boolean> {
  const draft = `${file}.${owner.id}`;
  const handle = await open(draft, 'wx');
  try {
    await handle.writeFile(JSON.stringify(owner));
    await link(draft, file).catch((error: NodeJS.ErrnoException) => {
      if (!NO_LINKS.has(error.code ?? '')) throw error;
      return writeFile(file, JSON.stringify(owner), { flag: 'wx' });
    });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await handle.close();
    await rm(draft, { force: true });
  }
}

/** If two processes see the same stale lock, the slower one may move away the new lock of the faster one: it then puts it back. */
async function reclaim(file: string, stale: LockOwner): Promise<void> {
  const aside = `${file}.${randomUUID()}`;
  try {
    await rename(file, aside);
    const moved = await readOwner(aside);
    if (moved.id !== stale.id) await link(aside, file);
  } catch (error) {
    ignoreMissing(error);
  } finally {
    await rm(aside, { force: true });
  }
}

function keepAlive(file: string, self: LockOwner): () => Promise<void> {
  const isOwn = async () => (await readOwner(file)).id === self.id;
  const timer = setInterval(() => {
    const now = new Date();
    isOwn()
      .then((own) => (own ? utimes(file, now, now) : undefined))
      .catch(ignoreMissing);
  }, HEARTBEAT_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    try {
      if (await isOwn()) await rm(file, { force: true });
    } catch (error) {
      ignoreMissing(error);
    }
  };
}

async function readLock(file: string): Promise<{ owner: LockOwner; isStale: boolean } | undefined> {
  try {
    const { mtimeMs } = await stat(file);
    const owner = await readOwner(file);
    const isSilent = Date.now() - mtimeMs > STALE_AFTER_MS;
    const hasEnded = owner.host === hostname() && !isAlive(owner);
    return { owner, isStale: isSilent || hasEnded };
  } catch (error) {
    ignoreMissing(error);
    return undefined;
  }
}

/** An unreadable lock file counts as stale by age alone. */
async function readOwner(file: string): Promise<LockOwner> {
  const text = await readFile(file, 'utf8');
  try {
    const owner = JSON.parse(text) as LockOwner;
    if (typeof owner.pid === 'number' && typeof owner.host === 'string') return owner;
  } catch {
    // not JSON: reported as an unknown owner below
  }
  const since = new Date((await stat(file)).mtimeMs).toISOString();
  return { id: text, pid: 0, startTime: undefined, host: '', purpose: 'something unknown', since };
}

function lockedError(file: string, { purpose, pid: owner, host, since }: LockOwner, now: Date): TidemarkError {
  const ageMs = Math.max(0, now.getTime() - Date.parse(since)) || 0;
  const age = ageMs < 120_000 ? `${Math.round(ageMs / 1000)} s` : `${Math.round(ageMs / 60_000)} min`;
  return new TidemarkError('LOCKED', `the warehouse is locked by ${purpose} (process ${owner} on ${host}) for ${age}`, {
    hint: `wait for it to end; the lock is ${file}`,
  });
}

export function currentProcess(): ProcessId {
  return { pid, startTime: readStartTime(pid) };
}

/** Whether a process of this host still runs. */
export function isAlive({ pid: other, startTime }: ProcessId): boolean {
  try {
    kill(other, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const actual = readStartTime(other);
  return startTime === undefined || actual === undefined || startTime === actual;
}

/** The 22nd field of Linux's /proc/PID/stat is the start time in clock ticks since boot. */
function readStartTime(other: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const afterName = readFileSync(`/proc/${other}/stat`, 'utf8').split(') ').at(-1) ?? '';
    return `${boot} ${afterName.split(' ')[19]}`;
  } catch {
    return undefined; // not Linux, or ended by now
  }
}

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
