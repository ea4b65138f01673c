import { describe, expect, test } from 'vitest';
import { cronError, timeZoneError } from '../../src/config/job.ts';

describe('a cron expression', () => {
  test.each(['15 2 * * *', '*/5 * * * *', '0 7 * * 1', '0 6 L * *', '0 6 1,15 1-6 *', '0 6 29 2 *', '0 6 * * mon-fri'])(
    '`%s` is valid',
    (expression) => {
      expect(cronError(expression)).toBeUndefined();
    },
  );

  test.each([
    ['61 2 * * *', /minute/u],
    ['0 24 * * *', /hour/u],
    ['0 2 * *', /five fields/u],
    ['0 0 2 * * *', /five fields/u],
    ['1-99999999 0 * * *', /^minute: 1-99999999 is not valid; give 0 to 59$/u],
    ['0 0 1,2-999999999 * *', /^day of month: 1,2-999999999 is not valid; give 1 to 31$/u],
    ['@daily', /five fields/u],
    ['every day', /five fields/u],
    ['0 2 31 2 *', /./u],
    ['0 2 30 2 *', /./u],
    ['', /five fields/u],
  ])('`%s` is invalid', (expression, problem) => {
    expect(cronError(expression)).toMatch(problem);
  });
});

test('the error of an unknown time zone names it', () => {
  expect(timeZoneError('Europe/Berlin')).toBeUndefined();
  expect(timeZoneError('Mars/Phobos')).toContain('Mars/Phobos');
  expect(timeZoneError('')).toBeDefined();
});
