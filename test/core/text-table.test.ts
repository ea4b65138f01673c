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

test('many rows take time in proportion to their number', () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => [String(index)]);
  let count = 0;
  for (const _line of tableLines([{ label: 'n' }], rows)) count++;
  expect(count).toBe(200_001);
});
