import { sha256 } from '../core/sha256.ts';
import type { LedgerEntries, LedgerEntry, LedgerEvent, LedgerRow } from './ledger.ts';
import { isFinal, ledgerLine, toKey, toLedgerRow } from './ledger.ts';

/**
 * Each line of the ledger carries, as `previous`, the digest of the line before it and of all before that one. The warehouse keeps the
 * last line that it has seen. Together they show a ledger that was emptied, cut, replaced or edited.
 */

/** The end of a ledger, or of a part of it: the number of lines, and the digest over them. */
export interface LedgerHead {
  readonly lines: number;
  readonly digest: string;
}

const NO_LINES: LedgerHead = { lines: 0, digest: sha256('') };

export interface SeenLedger {
  /**
   * The end of the ledger, then that of the one which it replaces: until the next run sees which one the file has, both are sound.
   * Empty where no ledger was seen, and in a warehouse of a version that kept no end.
   */
  readonly heads: readonly LedgerHead[];
  /** Of the table `actions`, which is a copy of the ledger. */
  readonly rows: readonly SeenRow[];
}

type SeenRow = Pick<LedgerRow, 'plan_id' | 'action_id' | 'status'>;

export const NOTHING_SEEN: SeenLedger = { heads: [], rows: [] };

export interface LedgerProblem {
  /** Null where the whole file is meant. */
  readonly line: number | null;
  readonly problem: string;
}

/** A ledger as its file has it. */
export type LedgerScan = Readonly<ReturnType<typeof scanLedger>>;

export function extendHead({ lines, digest }: LedgerHead, text: string): LedgerHead {
  return { lines: lines + 1, digest: sha256(`${digest}\n${text}`) };
}

export function toLine({ digest }: LedgerHead, event: LedgerEvent): string {
  return JSON.stringify({ ...event, previous: digest });
}

/** The text of a ledger with these lines. */
export function toLedgerText(events: readonly LedgerEvent[]): string {
  let head = NO_LINES;
  const lines = events.map((event) => {
    const text = toLine(head, event);
    head = extendHead(head, text);
    return `${text}\n`;
  });
  return lines.join('');
}

export function scanLedger(text: string) {
  const contents = text.split('\n');
  const rest = contents.pop() ?? '';
  let head = NO_LINES;
  const parsed = contents.map(parseLine);
  const lines = parsed.map(({ text, event, previous }, index) => {
    head = extendHead(head, text);
    /**
     * A crash cut it off, as the next line says. It may be left out: nothing is sent before its intent is on disk, and an intent without
     * an outcome is resolved by reading the subject.
     */
    const isCut = parsed[index + 1]?.event?.event === 'truncated';
    /** `head`: the ledger up to this line, as the file has it. */
    return { text, head, previous, event: isCut ? undefined : event, isCut };
  });
  /** Every record of an action. */
  const records = lines.flatMap(({ event }): LedgerEntry | [] =>
    event?.event === 'intent' || event?.event === 'outcome' ? event : [],
  );
  const entries: LedgerEntries = new Map(records.map((entry) => [toKey(entry), entry]));
  /** `rest`: what follows the last complete line, a line that a crash cut off. */
  return { lines, records, entries, head, rest };
}

/** `event`: undefined where it cannot be read. `previous`: the digest that it carries of the lines before it. */
function parseLine(text: string) {
  const unread = { text, event: undefined, previous: undefined };
  try {
    const value = JSON.parse(text) as { readonly previous?: unknown };
    const { data: event } = ledgerLine.safeParse(value);
    return event ? { text, event, previous: typeof value.previous === 'string' ? value.previous : undefined } : unread;
  } catch (error) {
    // Lists in lists without an end are JSON, and more than a schema can walk.
    if (error instanceof SyntaxError || error instanceof RangeError) return unread;
    throw error;
  }
}

/** Why a ledger cannot be used, the first line first. Up to the line that the warehouse has seen, its digest alone counts. */
export function findProblems(scan: LedgerScan, seen: SeenLedger): readonly LedgerProblem[] {
  const known = seen.heads.find((head) => continues(scan, head));
  const [last] = seen.heads;
  const links = findBrokenLinks(scan, known?.lines);
  return [
    ...findUnreadable(scan),
    ...links,
    ...(last && !known ? describeHead(scan, last, links) : []),
    ...(known ? [] : compareRows(scan, seen.rows)),
  ].sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
}

function continues({ lines }: LedgerScan, head: LedgerHead): boolean {
  return (head.lines === 0 ? NO_LINES : lines[head.lines - 1]?.head)?.digest === head.digest;
}

export function findUnreadable({ lines }: LedgerScan): readonly LedgerProblem[] {
  return lines.flatMap(({ event, isCut, head }) =>
    event || isCut ? [] : [{ line: head.lines, problem: 'is damaged' }],
  );
}

/** Lines of a version that did not chain them may come first. They belong to what the first chained line carries the digest of. */
function findBrokenLinks({ lines }: LedgerScan, knownLines = 0): readonly LedgerProblem[] {
  const problems: LedgerProblem[] = [];
  const firstChained = lines.findIndex(({ event, previous }) => event && previous !== undefined);
  const start = firstChained < 0 ? lines.length : Math.max(knownLines, firstChained);
  let expected = lines[start - 1]?.head ?? NO_LINES;
  for (const { text, event, previous, head } of lines.slice(start)) {
    if (event && previous !== expected.digest) {
      problems.push({ line: head.lines, problem: explainLink(head.lines, previous) });
      if (previous !== undefined) expected = { ...expected, digest: previous }; // to find the next break
    }
    expected = extendHead(expected, text);
  }
  return problems;
}

function explainLink(line: number, previous: string | undefined): string {
  if (previous === undefined) return 'carries no digest';
  if (line === 1) return 'is not the first line of a ledger: those before it are missing';
  return `does not continue line ${line - 1}: that line was changed, or lines before this one were removed, added or moved`;
}

function describeHead({ lines }: LedgerScan, head: LedgerHead, links: readonly LedgerProblem[]) {
  if (lines.length < head.lines) {
    const problem = `ends at line ${lines.length}, and the warehouse has seen ${head.lines}: it was emptied or cut, or is an older one`;
    return [{ line: null, problem }];
  }
  if (links.some(({ line }) => line !== null && line <= head.lines)) return [];
  const problem = 'is not the line that the warehouse has seen: it, or one before it, was changed';
  return [{ line: head.lines, problem }];
}

/** Which actions the table `actions` knows otherwise. */
function compareRows({ entries, lines }: LedgerScan, rows: readonly SeenRow[]): readonly LedgerProblem[] {
  const numbers = new Map(lines.map(({ event, head }) => [event, head.lines]));
  return rows.flatMap((row): readonly LedgerProblem[] => {
    const entry = entries.get(toKey(row));
    const name = `${row.action_id} of plan ${row.plan_id}`;
    if (!entry) return [{ line: null, problem: `lacks ${name}, which the table actions has as ${row.status}` }];
    const { status } = toLedgerRow(entry);
    if (status === row.status || !isFinal(row)) return [];
    const line = numbers.get(entry) ?? null;
    return [{ line, problem: `has ${name} as ${status}, and the table actions as ${row.status}` }];
  });
}

/** The lines that follow what the warehouse has seen, also where that part was damaged. */
export function unseenEvents(scan: LedgerScan, { heads }: SeenLedger): readonly LedgerEvent[] {
  const { lines } = scan;
  const known = heads.find((head) => continues(scan, head));
  const first = known?.lines ?? lines.findIndex(({ previous }) => heads.some(({ digest }) => digest === previous));
  return first < 0 ? [] : lines.slice(first).flatMap(({ event }) => event ?? []);
}
