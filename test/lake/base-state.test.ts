import { expect, test } from 'vitest';
import { findBaseState } from '../../src/lake/base-state.ts';
import { type AddAction, PROTOCOL, type Snapshot } from '../../src/lake/delta-log.ts';

interface Content {
  readonly publish: number;
  readonly asOf: string;
  readonly rows?: number;
}

/** A file as a publish adds it. */
function file(path: string, content?: Content): AddAction {
  const bounds = content && { as_of: content.asOf, publish: content.publish };
  const stats = { numRecords: content?.rows ?? 1, minValues: bounds, maxValues: bounds };
  const add = { path, partitionValues: {}, size: 1, modificationTime: 0, dataChange: true };
  return { ...add, ...(content && { stats: JSON.stringify(stats) }) };
}

function table(...files: readonly AddAction[]): Snapshot {
  const none = { version: 0, checkpoint: -1, protocol: PROTOCOL, metaData: undefined };
  return { ...none, files: new Map(files.map((add) => [add.path, add])), removed: new Map(), transactions: new Map() };
}

const day = (number: number): string => `2026-07-${String(number).padStart(2, '0')}T02:15:00.000Z`;
const names = (files: ReadonlySet<AddAction>): readonly string[] => [...files].map(({ path }) => path).sort();

test('the newest state that readers see counts, and the changes since, with those of its time', () => {
  const states = table(
    file('first', { publish: 1024, asOf: day(1) }),
    file('second', { publish: 3072, asOf: day(3) }),
    file('killed', { publish: 5120, asOf: day(5) }),
  );
  const changes = table(...[1, 2, 3, 4, 5].map((n) => file(`day-${n}`, { publish: n * 1024, asOf: day(n) })));
  const base = findBaseState(states, changes, new Set([1024, 2048, 3072, 4096]));
  expect(base).toMatchObject({ isFound: true, isOld: false });
  expect(names(base.states)).toEqual(['killed', 'second']);
  expect(names(base.changes)).toEqual(['day-3', 'day-4', 'day-5']);
});

test('without a state that readers see, every file is read', () => {
  const states = table(file('of-another-writer', { publish: 1025, asOf: day(3) }));
  const changes = table(file('day-1', { publish: 1024, asOf: day(1) }), file('day-4', { publish: 4096, asOf: day(4) }));
  const base = findBaseState(states, changes, new Set([1024, 4096]));
  expect(base.isFound).toBe(false);
  expect(names(base.states)).toEqual(['of-another-writer']);
  expect(names(base.changes)).toEqual(['day-1', 'day-4']);
});

test('a file without statistics, such as one that an engine has written, is read and is no base', () => {
  const states = table(file('first', { publish: 2048, asOf: day(2) }), file('compacted'));
  const changes = table(file('day-1', { publish: 1024, asOf: day(1) }), file('old-and-new'));
  const base = findBaseState(states, changes, new Set([1024, 2048]));
  expect(names(base.states)).toEqual(['compacted', 'first']);
  expect(names(base.changes)).toEqual(['old-and-new']);
});

test('a state is due when the changes since take eight times as long to read, by files and by rows', () => {
  const states = table(file('first', { publish: 1024, asOf: day(1), rows: 1500 }));
  const change = (n: number, rows: number) => file(`day-${n}`, { publish: n * 1024, asOf: day(n), rows });
  const visible = new Set(Array.from({ length: 40 }, (_, n) => n * 1024));
  const isOld = (...files: readonly AddAction[]) => findBaseState(states, table(...files), visible).isOld;
  expect(isOld(change(2, 15_500))).toBe(false);
  expect(isOld(change(2, 15_501))).toBe(true);
  const days = Array.from({ length: 28 }, (_, index) => change(index + 2, 72));
  expect(isOld(...days.slice(0, 27))).toBe(false);
  expect(isOld(...days)).toBe(true);
  const ofOthers = days.map((add) => ({ ...add, stats: add.stats?.replace(/"publish":(\d+)/gu, '"publish":7$1') }));
  expect(isOld(...(ofOthers as AddAction[]))).toBe(false);
});
