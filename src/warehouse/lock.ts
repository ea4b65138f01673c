import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { TidemarkError } from '../core/errors.ts';
import { currentProcess, isAlive } from './process-mark.ts';

/** Who holds the lock, as the file says. */
interface LockOwner {
  /** Tells this lock from any other, before or after it. */
  readonly id: string;
  readonly pid: number;
  /** When the process began, in the system's own count: a later process may get the same number. */
  readonly began: string | undefined;
  readonly host: string;
  readonly purpose: string;
  readonly since: string;
}

/** The file's time is renewed this often; one that was not for much longer belongs to a dead holder, on whatever host. */
const HEARTBEAT_MS = 5_000;
const DEAD_AFTER_MS = 60_000;

/**
 * Takes the lock that lets one process at a time write to a warehouse; a dead holder's is taken over.
 * @returns the function that gives it back.
 * @throws TidemarkError LOCKED naming the holder and the lock's age.
 */
export async function acquireLock(file: string, purpose: string, now = new Date()): Promise<() => Promise<void>> {
  await mkdir(dirname(file), { recursive: true });
  const since = now.toISOString();
  const mine: LockOwner = { id: randomUUID(), ...currentProcess(), host: hostname(), purpose, since };
  for (let tried = 0; tried < 5; tried++) {
    if (await createLockFile(file, mine)) return keepAlive(file, mine);
    const theirs = await readLock(file);
    if (theirs === undefined) continue; // given back in between
    if (!theirs.dead) throw lockedError(file, theirs.holder, now);
    await reclaim(file, theirs.holder);
  }
  throw new TidemarkError('LOCKED', `${file} is contended`, { hint: 'run again' });
}

/** File systems without hard links say one of these. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/** Written whole before it gets its name: whoever finds the lock finds its holder in it. */
async function createLockFile(file: string, holder: LockOwner): Promise<boolean> {
  const draft = `${file}.${holder.id}`;
  const handle = await open(draft, 'wx');
  try {
    await handle.writeFile(JSON.stringify(holder));
    await link(draft, file).catch((error: NodeJS.ErrnoException) => {
      if (!NO_LINKS.has(error.code ?? '')) throw error;
      return writeFile(file, JSON.stringify(holder), { flag: 'wx' });
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

/** Of two that see the same dead lock, the slower may move away what the quicker has taken: it puts that back. */
async function reclaim(file: string, dead: LockOwner): Promise<void> {
  const aside = `${file}.${randomUUID()}`;
  try {
    await rename(file, aside);
    const moved = await readOwner(aside);
    if (moved.id !== dead.id) await link(aside, file);
  } catch (error) {
    ignoreMissing(error);
  } finally {
    await rm(aside, { force: true });
  }
}

function keepAlive(file: string, mine: LockOwner): () => Promise<void> {
  const isMine = async () => (await readOwner(file)).id === mine.id;
  const timer = setInterval(() => {
    const now = new Date();
    isMine()
      .then((still) => (still ? utimes(file, now, now) : undefined))
      .catch(ignoreMissing);
  }, HEARTBEAT_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    try {
      if (await isMine()) await rm(file, { force: true });
    } catch (error) {
      ignoreMissing(error);
    }
  };
}

async function readLock(file: string): Promise<{ holder: LockOwner; dead: boolean } | undefined> {
  try {
    const { mtimeMs } = await stat(file);
    const holder = await readOwner(file);
    const silent = Date.now() - mtimeMs > DEAD_AFTER_MS;
    const gone = holder.host === hostname() && !isAlive(holder);
    return { holder, dead: silent || gone };
  } catch (error) {
    ignoreMissing(error);
    return undefined;
  }
}

/** A file that is no lock of ours counts as held by nobody that can be asked: only its age tells. */
async function readOwner(file: string): Promise<LockOwner> {
  const text = await readFile(file, 'utf8');
  try {
    const holder = JSON.parse(text) as LockOwner;
    if (typeof holder.pid === 'number' && typeof holder.host === 'string') return holder;
  } catch {
    // not JSON: told as unknown below
  }
  const since = new Date((await stat(file)).mtimeMs).toISOString();
  return { id: text, pid: 0, began: undefined, host: '', purpose: 'something unknown', since };
}

function lockedError(file: string, { purpose, pid, host, since }: LockOwner, now: Date): TidemarkError {
  const ageMs = Math.max(0, now.getTime() - Date.parse(since)) || 0;
  const age = ageMs < 120_000 ? `${Math.round(ageMs / 1000)} s` : `${Math.round(ageMs / 60_000)} min`;
  return new TidemarkError('LOCKED', `the warehouse is locked by ${purpose} (process ${pid} on ${host}) for ${age}`, {
    hint: `wait for it to end; the lock is ${file}`,
  });
}

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
