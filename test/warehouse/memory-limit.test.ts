import { expect, test } from 'vitest';
import { loadMemoryLimit } from '../../src/warehouse/database.ts';

test.each([
  ['1GB', '250000KB'],
  ['4GB', '1000000KB'],
  ['2 gb', '500000KB'],
  ['1.5TB', '375000000KB'],
  ['2GiB', '536871KB'],
  ['600MB', '250000KB'],
  ['100MB', '100000KB'],
  ['512KB', '512KB'],
])('with memoryLimit %s, loads get %s', (limit, loads) => {
  expect(loadMemoryLimit(limit)).toBe(loads);
});
