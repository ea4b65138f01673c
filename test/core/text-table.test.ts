import { expect, test } from 'vitest';
import { createColors } from '../../src/core/color.ts';
import { displayWidth, tableLines } from '../../src/core/text-table.ts';

test('columns are aligned, numbers to the right, without trailing space', () => {
  const lines = tableLines(
    [{ label: 'name' }, { label: 'rows', align: 'right' }, { label: 'note' }],
    [
      ['a', '1', ''],
      ['longer', '12345', 'x'],
    ],
  );
  expect([...lines]).toEqual(['name     rows  note', 'a           1', 'longer  12345  x']);
});

test('colour and combining characters have no width, wide characters have two', () => {
  expect(displayWidth(createColors(true).red('abc'))).toBe(3);
  expect(displayWidth('e\u0301')).toBe(1);
  expect(displayWidth('名前')).toBe(4);
});

test('each cell is read twice, however many rows there are', () => {
  let reads = 0;
  const row = {
    get 0() {
      reads++;
      return 'x';
    },
  } as unknown as readonly string[];
  for (const count of [1, 10, 1000]) {
    reads = 0;
    const lines = tableLines([{ label: 'n' }], Array<readonly string[]>(count).fill(row));
    expect([[...lines].length, reads]).toEqual([count + 1, count * 2]);
  }
});

test('a long text does not make every other line as long', () => {
  const [label, long, short] = tableLines(
    [{ label: 'a' }, { label: 'b' }],
    [
      ['x'.repeat(1000), '1'],
      ['y', '2'],
    ],
  );
  expect([label, short].map((line) => line?.length)).toEqual([503, 503]);
  expect(long).toHaveLength(1003);
});

test('a sentence goes on below its beginning, at words where it can, and ends after five lines', () => {
  const lines = (text: string, room: number) => {
    const [, ...rest] = tableLines(
      [
        { label: 'a', isWhole: true },
        { label: 'b', isWrapped: true },
      ],
      [['x', text]],
      room,
    );
    return rest;
  };
  expect(lines('one two three four', 13)).toEqual(['x  one two', '   three four']);
  expect(lines('名前名前名前名前', 12)).toEqual(['x  名前名前', '   名前名前']);
  expect(lines('👩🏽‍💻'.repeat(3), 11).join('')).not.toContain('\ufffd');
  const long = lines('y'.repeat(1000), 23);
  expect([long.length, Math.max(...long.map(displayWidth)), long.at(-1)?.at(-1)]).toEqual([5, 23, '…']);
});

test('a text of marks without width is cut in the time of one reading', () => {
  const long = `name${'\u0301'.repeat(100_000)}${'y'.repeat(50)}`;
  const { user } = process.cpuUsage();
  const [, line = ''] = tableLines([{ label: 'a' }], [[long]], 20);
  expect([displayWidth(line), line.at(-1)]).toEqual([20, '…']);
  expect(process.cpuUsage({ user, system: 0 }).user).toBeLessThan(2_000_000);
});
