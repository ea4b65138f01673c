import { open, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../core/clock.ts';
import { TidemarkError } from '../core/errors.ts';
import { ignoreMissing, makeFolder, PRIVATE_FILE, syncFolder, systemLack } from '../core/fs.ts';
import { plural } from '../core/plural.ts';
import type { Lock } from '../warehouse/lock.ts';
import { describeAccess } from '../warehouse/session.ts';
import { type LedgerEntries, type LedgerEntry, type LedgerEvent, ledgerFile, toKey } from './ledger.ts';
import type { LedgerProblem, SeenLedger } from './ledger-chain.ts';
import { extendHead, findProblems, NOTHING_SEEN, scanLedger, toLine } from './ledger-chain.ts';

/** The lock of an apply, as far as the ledger needs it. */
type LedgerLock = Pick<Lock, 'assertHeld' | 'assertUnpaused'>;

/** The append-only record of every intent and outcome, open for writing. A record is on disk when its call returns. */
export type Ledger = Readonly<Awaited<ReturnType<typeof openLedgerFile>>>;

/**
 * Opens the ledger of a data folder. Each line is written only while `lock` is held. A line that a crash cut off is marked.
 * @throws TidemarkError DATA where it is damaged, or does not continue what the warehouse has seen.
 */
export async function openLedgerFile(data: string, lock: LedgerLock, seen: SeenLedger = NOTHING_SEEN) {
  const file = ledgerFile(data);
  await makeFolder(dirname(file));
  const sound = assertSound(data, await inspectLedger(data, seen));
  const entries = new Map(sound.entries);
  let { head } = sound;
  const handle = await open(file, 'a', PRIVATE_FILE);
  /** The length of the file as this process knows it. */
  let { size } = await handle.stat();
  const append = async (event: LedgerEvent, prefix = ''): Promise<void> => {
    const text = toLine(head, event);
    lock.assertHeld();
    const [own, named] = [await handle.stat(), await stat(file).catch(ignoreMissing)];
    if (own.ino !== named?.ino || own.dev !== named.dev || own.size !== size) {
      // The line would be lost with a file that has no name any more, or continue what others have written into it.
      throw new TidemarkError('DATA', `${file} was removed, replaced or changed while it was written`, {
        hint: 'put back the file that was there, and run it again: it says what was done',
      });
    }
    const line = Buffer.from(`${prefix}${text}\n`);
    await handle.appendFile(line);
    await handle.sync();
    head = extendHead(head, text);
    size += line.length;
  };
  const close = () => handle.close();
  try {
    if (sound.isMissing) await syncFolder(dirname(file));
    if (sound.rest !== '') {
      head = extendHead(head, sound.rest);
      await append({ event: 'truncated' }, '\n');
    }
  } catch (error) {
    await close();
    throw error;
  }
  /** @throws LockError, for an intent also if the process was paused: what the action depends on may be outdated. */
  const record = async (entry: LedgerEntry): Promise<void> => {
    if (entry.event === 'intent') lock.assertUnpaused();
    await append(entry);
    entries.set(toKey(entry), entry);
  };
  return { entries: entries as LedgerEntries, record, close };
}

/** A ledger with all that is wrong with it. */
export type LedgerInspection = Readonly<Awaited<ReturnType<typeof inspectLedger>>>;

/** `seen` must be read before: the file only grows. @throws TidemarkError DATA where something else has its name. */
export async function inspectLedger(data: string, seen: SeenLedger) {
  const text = await readText(ledgerFile(data));
  const scan = scanLedger(text ?? '');
  const isMissing = text === undefined;
  const lines = seen.heads[0]?.lines ?? 0;
  const isLost = isMissing && Math.max(lines, seen.rows.length) > 0;
  const known =
    seen.rows.length > 0
      ? `the table actions has ${plural(seen.rows.length, 'row')}`
      : `the warehouse has seen ${plural(lines, 'line')}`;
  const lost = `is missing, and ${known} of it`;
  const problems: readonly LedgerProblem[] = isLost ? [{ line: null, problem: lost }] : findProblems(scan, seen);
  return { ...scan, isMissing, problems };
}

/** @throws TidemarkError DATA naming the first problem, and the ways out */
export function assertSound(data: string, inspection: LedgerInspection): LedgerInspection {
  const [first] = inspection.problems;
  if (first === undefined) return inspection;
  throw new TidemarkError('DATA', formatProblem(ledgerFile(data), first), { hint: WAYS_OUT });
}

const WAYS_OUT =
  'see all with `tidemark playbook ledger verify`; restore it from a backup, or write it from the table with `tidemark playbook ledger --restore`, or take it as it is with `tidemark playbook ledger --accept`';

export function formatProblem(file: string, { line, problem }: LedgerProblem): string {
  return `${file}${line === null ? '' : `:${line}`} ${problem}`;
}

/** Undefined where there is no ledger. @throws TidemarkError DATA where something else has its name. */
async function readText(file: string): Promise<string | undefined> {
  try {
    if (!(await stat(file)).isFile()) throw new Error(); // a pipe would wait for a writer, and a device has no end
    return await readFile(file, 'utf8');
  } catch (cause) {
    const { code = 'it is no regular file' } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    const lack = systemLack(cause);
    if (lack !== undefined) throw new TidemarkError('INCOMPLETE', `${file} cannot be read: ${lack}`, { cause });
    if (code === 'EACCES' || code === 'EPERM') {
      // Such as after an apply of root. Whoever accepted or replaced it here would lose it.
      throw new TidemarkError('DATA', `${file} cannot be read by this account: ${await describeAccess(file)}`, {
        hint: 'run as its owner, or make the account that runs tidemark its owner',
        cause,
      });
    }
    throw new TidemarkError('DATA', `${file} cannot be read as a ledger (${code})`, { cause, hint: WAYS_OUT });
  }
}

/** What happened, in a clause such as `plan p-1 was approved`, and when. */
export type KnownTime = readonly [what: string, at: string];

/**
 * Refuses to write at a time before the last known one: with an earlier time, a plan that has expired would be valid again.
 * @throws TidemarkError UNSAFE that says what happened later than `now`.
 */
export function assertTimeMovedOn(now: Date, known: readonly KnownTime[]): void {
  const later = known.filter(([, at]) => Date.parse(at) > now.getTime());
  const [last] = later.sort(([, a], [, b]) => Date.parse(b) - Date.parse(a));
  if (!last) return;
  throw new TidemarkError('UNSAFE', `${last.join(' at ')}, which is in the future of ${now.toISOString()}`, {
    hint: 'check the clock, or leave --now out',
  });
}

/**
 * Refuses to write at a time that `--now` moves before the ledger. The clock of the machine is not refused: one that was wrong for a
 * moment would prevent every apply until the time that it wrote.
 * @throws TidemarkError UNSAFE as `assertTimeMovedOn`
 */
export async function assertAfterLedger(data: string, { frozen, now }: Clock): Promise<void> {
  if (!frozen) return;
  const { records } = scanLedger((await readText(ledgerFile(data))) ?? '');
  const times = records.map((entry): KnownTime => {
    const name = `${entry.action_id} of plan ${entry.plan_id}`;
    return entry.event === 'intent' ? [`${name} was started`, entry.started_at] : [`${name} ended`, entry.finished_at];
  });
  assertTimeMovedOn(now(), times);
}
