import { describe, expect, test } from 'vitest';
import { cronProblem, zoneProblem } from '../../src/core/cron.ts';

describe('an expression', () => {
  test.each(['15 2 * * *', '*/5 * * * *', '0 7 * * 1', '0 6 L * *', '0 6 1,15 1-6 *', '0 6 29 2 *', '0 6 * * mon-fri'])(
    '`%s` is one',
    (expression) => {
      expect(cronProblem(expression)).toBeUndefined();
    },
  );

  test.each([
    ['61 2 * * *', /minute/u],
    ['0 24 * * *', /hour/u],
    ['0 2 * *', /five fields/u],
    ['0 0 2 * * *', /five fields/u],
    ['@daily', /five fields/u],
    ['every day', /five fields/u],
    ['0 2 31 2 *', /./u],
    ['0 2 30 2 *', /./u],
    ['', /five fields/u],
  ])('`%s` is none', (expression, problem) => {
    expect(cronProblem(expression)).toMatch(problem);
  });
});

test('a zone that the runtime does not know is refused by name', () => {
  expect(zoneProblem('Europe/Berlin')).toBeUndefined();
  expect(zoneProblem('Mars/Phobos')).toContain('Mars/Phobos');
  expect(zoneProblem('')).toBeDefined();
});
