import type { AddAction, Snapshot } from './delta-log.ts';

/** The files from which the present rows of a relation follow: its newest state that counts for a writer, and the changes since. */
export interface BaseState {
  /** Without a state that counts, these are all files. */
  readonly isFound: boolean;
  readonly states: ReadonlySet<AddAction>;
  readonly changes: ReadonlySet<AddAction>;
  /** Whether the changes take so much longer to read than the state that a new one is due. */
  readonly isOld: boolean;
}

/** A file takes as long to open as this number of rows takes to read. */
const ROWS_TO_OPEN = 500;
/** So many times as long as a state may the changes since take to read. New states add an eighth to the size of the changes at most. */
const MAX_RATIO = 8;

/**
 * Finds the files by the statistics in the logs; those without are read.
 * @param visible the publishes of the writer that readers see
 */
export function findBaseState(state: Snapshot, changes: Snapshot, visible: ReadonlySet<number>): BaseState {
  const states = [...state.files.values()].map(readBounds);
  const counting = states.filter(({ isOne, publish }) => isOne && visible.has(publish));
  const baseMs = Math.max(...counting.map(({ untilMs }) => untilMs));
  const isSince = ({ untilMs }: Bounds) => untilMs >= baseMs;
  const since = [...changes.files.values()].map(readBounds).filter(isSince);
  const own = since.filter(({ publish }) => visible.has(publish));
  const base = Math.max(ROWS_TO_OPEN, rowsToRead(counting.filter(isSince)));
  return {
    isFound: counting.length > 0,
    states: new Set(states.filter(isSince).map(({ add }) => add)),
    changes: new Set(since.map(({ add }) => add)),
    isOld: rowsToRead(own) > MAX_RATIO * base,
  };
}

interface Bounds {
  readonly add: AddAction;
  readonly rows: number;
  /** All rows are of one publish, with one time. */
  readonly isOne: boolean;
  /** The last publish; infinite if it is not known. */
  readonly publish: number;
  /** The last `as_of`, in milliseconds as the log has it; infinite if it is not known. */
  readonly untilMs: number;
}

interface Statistics {
  readonly numRecords?: number;
  readonly minValues?: { readonly as_of?: string; readonly publish?: number };
  readonly maxValues?: { readonly as_of?: string; readonly publish?: number };
}

function readBounds(add: AddAction): Bounds {
  const { numRecords = 0, minValues, maxValues } = JSON.parse(add.stats ?? '{}') as Statistics;
  const untilMs = Date.parse(maxValues?.as_of ?? '');
  const publish = maxValues?.publish ?? Number.POSITIVE_INFINITY;
  return {
    add,
    rows: numRecords,
    isOne: minValues?.as_of === maxValues?.as_of && minValues?.publish === publish && !Number.isNaN(untilMs),
    publish,
    untilMs: Number.isNaN(untilMs) ? Number.POSITIVE_INFINITY : untilMs,
  };
}

function rowsToRead(files: readonly Bounds[]): number {
  return files.reduce((sum, { rows }) => sum + rows + ROWS_TO_OPEN, 0);
}
