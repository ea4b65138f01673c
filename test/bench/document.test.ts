import { expect, test } from 'vitest';
import { type Measured, updateDocument } from '../../bench/document.ts';
import { readOptions } from '../../bench/main.ts';
import { compareWithLimit, isMet, medianRatio, milliseconds, type Result, seconds } from '../../bench/result.ts';

const ORDER = ['first', 'second'];

function measured(name: string, results: readonly Result[]): Measured {
  const at = new Date('2026-11-22T10:00:00Z');
  return { name, about: `about ${name}`, results, loadBefore: 0.25, at };
}

const row = (part: string, ratio: number): Result => ({
  what: `work of ${part}`,
  measured: '1.00 s',
  against: '2.00 s',
  ratio,
  range: [ratio - 0.1, ratio + 0.1],
  aim: 0.6,
});

test('a part shows its rows with ranges and verdicts, and the load of the machine', () => {
  const text = updateDocument('', [measured('first', [row('first', 0.5), row('first', 0.7)])], ORDER);
  expect(text).toContain('| **first**: about first | 2026-11-22, load 0.25 |');
  expect(text).toContain('| work of first | 1.00 s | 2.00 s | 0.50 (0.40–0.60) | ≤ 0.6, met |');
  expect(text).toContain('| work of first | 1.00 s | 2.00 s | 0.70 (0.60–0.80) | ≤ 0.6, **missed** |');
});

test('the document has no details', () => {
  const text = updateDocument(
    '',
    [measured('first', [row('first', 0.5), { ...row('more', 0.5), isDetail: true }])],
    ORDER,
  );
  expect(text.match(/work of \w+/gu)).toEqual(['work of first']);
});

test('rows of other parts and their order stay when one part is measured again', () => {
  const before = updateDocument(
    '',
    [measured('second', [row('second', 0.5)]), measured('first', [row('first', 0.5)])],
    ORDER,
  );
  const after = updateDocument(before, [measured('first', [row('first', 0.3)])], ORDER);
  expect(after).toBe(before.replace('| 0.50 (0.40–0.60) |', '| 0.30 (0.20–0.40) |'));
  expect(after.indexOf('**first**')).toBeLessThan(after.indexOf('**second**'));
});

test('a part that was skipped says why, and one that no longer exists disappears', () => {
  const before = updateDocument('', [measured('first', []), measured('old', [])], [...ORDER, 'old']);
  const after = updateDocument(before, [{ ...measured('first', []), skipped: 'python3 is not installed' }], ORDER);
  expect(after).toContain('| not measured: python3 is not installed |');
  expect(after).not.toContain('**old**');
});

test('the ratio is the median of the ratios of the rounds, with the lowest and the highest', () => {
  const rounds = [
    { measured: 1000, against: 1000 },
    { measured: 3000, against: 2000 },
    { measured: 4000, against: 1000 },
  ];
  expect(medianRatio(rounds, seconds, 'for the other')).toEqual({
    measured: '3.00 s',
    against: '1.00 s for the other',
    ratio: 1.5,
    range: [1, 4],
  });
});

test('a value beyond its limit is missed, and one that could not be computed too', () => {
  const result = { part: 'first', what: 'start' };
  expect(isMet({ ...result, ...compareWithLimit([90, 110, 95], 100, milliseconds) })).toBe(true);
  expect(isMet({ ...result, ...compareWithLimit([120], 100, milliseconds) })).toBe(false);
  expect(isMet({ ...result, ...compareWithLimit([], 100, milliseconds) })).toBe(false);
});

test.each([
  { argv: [], size: 'usual', isWritten: true },
  { argv: ['--large'], size: 'large', isWritten: true },
  { argv: ['--quick'], size: 'quick', isWritten: false },
  { argv: ['start'], size: 'usual', isWritten: false },
  { argv: ['--update', 'start'], size: 'usual', isWritten: true },
])('the options $argv are of size $size and write: $isWritten', ({ argv, ...expected }) => {
  expect(readOptions(argv)).toMatchObject(expected);
});

test.each([[['--fast']], [['nothing']], [['--quick', '--update', 'start']]])('%j is refused', (argv) => {
  expect(readOptions(argv)).toBeTypeOf('string');
});
