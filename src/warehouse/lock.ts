import { randomUUID } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, hostname, platform, uptime } from 'node:os';
import { dirname } from 'node:path';
// biome-ignore lint/style/noRestrictedImports: only the system knows whether the owner of a lock is alive
import { kill, pid } from 'node:process';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { makeFolder, PRIVATE_FILE, systemLack, writeFileAtomic } from '../core/fs.ts';
import { nativeError } from '../core/native.ts';

/** Who holds a lock, as shown to other processes. */
interface Owner {
  readonly pid: number;
  readonly host: string;
  readonly purpose: string;
  /** ISO 8601. */
  readonly since: string;
}

/** The content of `LOCK.owner`, which outlives every holder. */
interface LockRecord {
  /** The number of acquisitions so far. */
  readonly fence: number;
  /** Unique to the acquisition. */
  readonly id: string;
  /** Null while nobody holds the lock. */
  readonly owner: Owner | null;
}

/** Why the holder of a lock must stop: it lost the lock, or was paused. */
export class LockError extends TidemarkError {}

/** A lock that this process acquired. */
export type Lock = Readonly<Awaited<ReturnType<typeof acquireLock>>>;

/**
 * Acquires a lock that one process at a time holds. The kernel releases it when its process ends.
 * @param maxPauseMs how long the process may be stopped or asleep until `assertUnpaused` fails
 * @throws TidemarkError LOCKED naming the holder, DATA if something else than a file has the name.
 */
export async function acquireLock(file: string, purpose: string, now = new Date(), maxPauseMs = 30_000) {
  await makeFolder(dirname(file));
  const fd = openLockFile(file);
  try {
    if (!tryLockFile(fd, file)) throw lockedError(file, now);
    // What was removed meanwhile is not what others lock.
    if (!isFile(fd, file)) throw new TidemarkError('LOCKED', `${file} was removed`, { hint: 'run again' });
    return await beginLock(file, fd, { pid, host: hostname(), purpose, since: now.toISOString() }, maxPauseMs);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Increments the fencing number: it is on disk before anyone may rely on the lock. @param fd open and locked */
async function beginLock(file: string, fd: number, owner: Owner, maxPauseMs: number) {
  const own: LockRecord = { fence: (readRecord(file)?.fence ?? 0) + 1, id: randomUUID(), owner };
  await writeRecord(file, own);
  const pauses = monitorPauses();
  let isReleased = false;
  /**
   * Call it just before each write that only the holder may make.
   * @throws LockError LOCKED if the lock was lost: its file was removed, or a network file system gave it to another host.
   */
  const assertHeld = (): void => {
    if (isReleased) throw new Error(`${file} was released`);
    const how = explainLoss(file, fd, own);
    if (how === undefined) return;
    const hint = `run it again; leave ${file} alone while a process holds it`;
    throw new LockError('LOCKED', `${owner.purpose} lost its lock: ${how}`, { hint });
  };
  /**
   * Call it just before each write that depends on what was read before.
   * @throws LockError as `assertHeld`; INCOMPLETE if the process was paused since it acquired the lock, because what it has read
   * may be outdated.
   */
  const assertUnpaused = (): void => {
    assertHeld();
    const pausedMs = pauses.longestMs();
    if (pausedMs <= maxPauseMs) return;
    const message = `the process was stopped for ${Math.round(pausedMs / 1000)} s`;
    throw new LockError('INCOMPLETE', message, { hint: 'run it again: it continues where it stopped' });
  };
  const release = async (): Promise<void> => {
    if (isReleased) return;
    pauses.stop();
    try {
      if (readRecord(file)?.id === own.id) await writeRecord(file, { ...own, owner: null });
    } catch {
      // the record is for messages only; on a full disk it stays as it is
    } finally {
      isReleased = true;
      closeSync(fd);
    }
  };
  return { fence: own.fence, assertHeld, assertUnpaused, release };
}

/** How a lock was lost; undefined while it is held. */
function explainLoss(file: string, fd: number, own: LockRecord): string | undefined {
  const record = readRecord(file);
  if (record?.fence !== own.fence || record.id !== own.id)
    return record?.owner ? `it was taken by ${describe(record.owner)}` : `${file}.owner was changed`;
  if (!isFile(fd, file)) return `${file} was removed`;
  return isLocked(file) ? undefined : 'the file system released it';
}

/** The file is empty and never removed: a process that waits for a removed file waits for a lock of its own. */
function openLockFile(file: string): number {
  try {
    return openSync(file, 'a+', PRIVATE_FILE);
  } catch (error) {
    throw notAFile(file, error) ?? error;
  }
}

/** Whether `file` is still the file that is open as `fd`. */
function isFile(fd: number, file: string): boolean {
  const open = fstatSync(fd, { bigint: true });
  const named = statSync(file, { bigint: true, throwIfNoEntry: false });
  return named?.ino === open.ino && named.dev === open.dev;
}

function isLocked(file: string): boolean {
  const fd = openSync(file, 'a+');
  try {
    return !tryLockFile(fd, file);
  } finally {
    closeSync(fd);
  }
}

const recordFile = (file: string) => `${file}.owner`;

function writeRecord(file: string, record: LockRecord): Promise<void> {
  return writeFileAtomic(recordFile(file), `${JSON.stringify(record)}\n`);
}

/** Undefined before the first acquisition. @throws TidemarkError DATA if it is damaged. */
function readRecord(file: string): LockRecord | undefined {
  const name = recordFile(file);
  try {
    const record = JSON.parse(readFileSync(name, 'utf8')) as LockRecord | null;
    if (Number.isSafeInteger(record?.fence) && typeof record?.id === 'string') return record;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    if (!(error instanceof SyntaxError)) throw notAFile(name, error) ?? error;
  }
  throw new TidemarkError('DATA', `${name} is damaged`, { hint: 'remove it when no tidemark process is active' });
}

function notAFile(file: string, cause: unknown): TidemarkError | undefined {
  if ((cause as NodeJS.ErrnoException).code !== 'EISDIR') return undefined;
  return new TidemarkError('DATA', `${file} is a folder`, { hint: 'move it away: the name belongs to a lock', cause });
}

/** Whether a process of this host runs. */
export function isAlive(other: number): boolean {
  try {
    kill(other, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function lockedError(file: string, now: Date): TidemarkError {
  const owner = readRecord(file)?.owner;
  // A holder that has just begun has not recorded itself, and the last one may have been killed.
  const isCurrent = owner && !(owner.host === hostname() && !isAlive(owner.pid));
  const holder = isCurrent ? `${describe(owner)}${formatAge(owner, now)}` : 'another process';
  return new TidemarkError('LOCKED', `the warehouse is locked by ${holder}`, {
    hint: `wait for it to end; the lock is ${file}`,
  });
}

function describe({ purpose, pid: owner, host, since }: Owner): string {
  return `${purpose} (process ${owner} on ${host}) since ${since}`;
}

/** Empty where the clock has gone back. */
function formatAge({ since }: Owner, now: Date): string {
  const ageMs = now.getTime() - Date.parse(since);
  if (!(ageMs >= 0)) return '';
  return ageMs < 120_000 ? `, for ${Math.round(ageMs / 1000)} s` : `, for ${Math.round(ageMs / 60_000)} min`;
}

const CHECK_EVERY_MS = 1_000;

/**
 * Measures the longest time for which this process did not run: stopped by a signal, or asleep with its machine. The clock is the
 * time since boot, which no change of the wall clock affects.
 * @param now seconds since boot, including sleep
 */
export function monitorPauses(now: () => number = uptime) {
  let lastSeen = now();
  let longest = 0;
  const observe = () => {
    longest = Math.max(longest, now() - lastSeen);
    lastSeen = now();
  };
  const timer = setInterval(observe, CHECK_EVERY_MS).unref();
  return {
    /** Also counts a pause that ended just now, before any timer could run. */
    longestMs(): number {
      observe();
      return longest * 1000;
    },
    stop: () => clearInterval(timer),
  };
}

/** The native part of fs-native-extensions. */
interface Binary {
  /** @throws an error with the code EAGAIN while another open file description holds the lock */
  tryLock(fd: number, offset: number, length: number, isExclusive: boolean): void;
}

const require = createRequire(import.meta.url);
let loaded: Binary | undefined;

/**
 * Locks an open file through the kernel, which releases the lock when `fd` is closed or its process ends, for any reason. The lock
 * belongs to the open file description: it also excludes a second holder in this process, and reading the file elsewhere in this
 * process does not release it (docs/decisions.md#locks).
 * @returns false while another open file description holds the lock
 * @throws TidemarkError UNSAFE if the file system has no such lock, CONFIG if the package with the lock is not installed.
 */
function tryLockFile(fd: number, file: string): boolean {
  loaded ??= loadBinary();
  try {
    loaded.tryLock(fd, 0, 0, true);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
    throw new TidemarkError('UNSAFE', `${file} cannot be locked: ${systemLack(error) ?? errorMessage(error)}`, {
      hint: 'put `data` on a file system with locks, such as a local one',
      cause: error,
    });
  }
}

/** The package itself looks for a separate build on Alpine, although that for Linux also loads with musl. */
function loadBinary(): Binary {
  try {
    return require(`fs-native-extensions/prebuilds/${platform()}-${arch()}/fs-native-extensions.node`) as Binary;
  } catch (cause) {
    throw nativeError('fs-native-extensions', cause);
  }
}
