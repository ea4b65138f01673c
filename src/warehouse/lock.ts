import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { kill, pid } from 'node:process';
import { TidemarkError } from '../core/errors.ts';

/** Who holds the lock, as the file says. */
interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly purpose: string;
  readonly since: string;
}

/** The file's time is renewed this often; one that was not for much longer belongs to a dead holder on another host. */
const HEARTBEAT_MS = 5_000;
const DEAD_AFTER_MS = 60_000;

/**
 * Takes the lock that lets one process at a time write to a warehouse; a dead holder's is taken over.
 * @returns the function that gives it back.
 * @throws TidemarkError LOCKED naming the holder and the lock's age.
 */
export async function takeLock(file: string, purpose: string, now: Date): Promise<() => Promise<void>> {
  await mkdir(dirname(file), { recursive: true });
  const mine: Holder = { pid, host: hostname(), purpose, since: now.toISOString() };
  for (let tried = 0; tried < 3; tried++) {
    if (await create(file, mine)) return keepAlive(file);
    const theirs = await holderOf(file);
    if (theirs === undefined) continue; // given back in between
    if (!theirs.dead) throw refusal(file, theirs.holder, theirs.ageMs);
    // Renaming is atomic: of two that see the same dead lock, one gets it out of the way.
    const aside = `${file}.${randomBytes(4).toString('hex')}`;
    await rename(file, aside).catch(ignoreMissing);
    await rm(aside, { force: true });
  }
  throw new TidemarkError('LOCKED', `${file} is contended`, { hint: 'run again' });
}

async function create(file: string, holder: Holder): Promise<boolean> {
  try {
    const handle = await open(file, 'wx');
    await handle.writeFile(JSON.stringify(holder));
    await handle.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function keepAlive(file: string): () => Promise<void> {
  const timer = setInterval(() => {
    const now = new Date();
    utimes(file, now, now).catch(ignoreMissing);
  }, HEARTBEAT_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await rm(file, { force: true });
  };
}

async function holderOf(file: string): Promise<{ holder: Holder; ageMs: number; dead: boolean } | undefined> {
  try {
    const { mtimeMs } = await stat(file);
    const holder = parseHolder(await readFile(file, 'utf8'));
    const silentMs = Date.now() - mtimeMs;
    const dead = holder.host === hostname() ? !isAlive(holder.pid) : silentMs > DEAD_AFTER_MS;
    const halfWritten = holder.pid === 0;
    return { holder, ageMs: Date.now() - Date.parse(holder.since), dead: halfWritten ? silentMs > HEARTBEAT_MS : dead };
  } catch (error) {
    ignoreMissing(error);
    return undefined;
  }
}

/** A file that its maker had no time to fill reads as held by process 0. */
function parseHolder(text: string): Holder {
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return { pid: 0, host: hostname(), purpose: 'unknown', since: new Date().toISOString() };
  }
}

function isAlive(other: number): boolean {
  try {
    return kill(other, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function refusal(file: string, { purpose, pid: other, host }: Holder, ageMs: number): TidemarkError {
  const age = ageMs < 120_000 ? `${Math.max(0, Math.round(ageMs / 1000))} s` : `${Math.round(ageMs / 60_000)} min`;
  return new TidemarkError('LOCKED', `the warehouse is locked by ${purpose} (process ${other} on ${host}) for ${age}`, {
    hint: `wait for it to end; the lock is ${file}`,
  });
}

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
