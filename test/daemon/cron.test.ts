import { describe, expect, test } from 'vitest';
import { jobSchema } from '../../src/config/job.ts';

const explain = (job: object) => jobSchema.safeParse(job).error?.issues[0]?.message;
const cronError = (schedule: string) => explain({ schedule });
const timeZoneError = (timezone: string) => explain({ timezone });

describe('a cron expression', () => {
  test.each(['15 2 * * *', '*/5 * * * *', '0 7 * * 1', '0 6 L * *', '0 6 1,15 1-6 *', '0 6 29 2 *', '0 6 * * mon-fri'])(
    '`%s` is valid',
    (expression) => {
      expect(cronError(expression)).toBeUndefined();
    },
  );

  test.each([
    '61 2 * * *',
    '0 24 * * *',
    '0 0 32 foo 9',
    '$ 0 * * *',
    '0 2 * *',
    '0 0 2 * * *',
    '1-99999999 0 * * *',
    '0 0 1,2-999999999 * *',
    '@daily',
    'every day',
    '0 2 31 2 *',
    '0 2 30 2 *',
    '',
  ])('`%s` is invalid', (expression) => {
    expect(cronError(expression)).toMatch(/^must be a time that exists, in five fields: minute 0 to 59, /u);
  });
});

test('the error of an unknown time zone names it', () => {
  expect(timeZoneError('Europe/Berlin')).toBeUndefined();
  expect(timeZoneError('Mars/Phobos')).toContain('Mars/Phobos');
  expect(timeZoneError('')).toBeDefined();
});
