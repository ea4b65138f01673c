import { afterAll, beforeAll, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { type Database, openDatabase } from '../../src/warehouse/database.ts';
import { resolveMoment } from '../../src/warehouse/moment.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';

/** A Monday. */
const NOW = '2026-11-23T12:00:00Z';
const RUNS = ['2026-10-20T02:15:00Z', '2026-11-21T02:15:00Z', '2026-11-22T02:15:00Z', '2026-11-22T23:30:00Z'];

const files = createSqlFiles([PACKAGE_ROOT]);
let database: Database;

beforeAll(async () => {
  database = await openDatabase(':memory:');
  await database.run('create table runs (run_id varchar, started_at timestamptz)');
  await database.run('create table pulls (run_id varchar, as_of timestamptz, status varchar)');
  for (const time of RUNS) {
    const params = { run_id: time.replaceAll(/[-:]/gu, ''), time };
    await database.run('insert into runs values ($run_id, $time::timestamptz)', params);
    await database.run(`insert into pulls values ($run_id, $time::timestamptz, 'complete')`, params);
  }
  await database.run("insert into runs values ('20261122T021500Z-2', '2026-11-22T02:15:00.001Z')");
});

afterAll(() => database.close());

const resolve = (text: string, timeZone = 'UTC', now = NOW) =>
  resolveMoment(text, { rows: database.rows, files, now: new Date(now), timeZone });

test.each([
  ['now', NOW, 3],
  ['today', NOW, 3],
  ['yesterday', '2026-11-22T23:59:59.999Z', 3],
  ['Last Sunday', '2026-11-22T23:59:59.999Z', 3],
  ['last monday', '2026-11-16T23:59:59.999Z', 0],
  ['last  tuesday', '2026-11-17T23:59:59.999Z', 0],
  ['-1d', '2026-11-22T12:00:00.000Z', 2],
  ['-1w', '2026-11-16T12:00:00.000Z', 0],
  ['-36h', '2026-11-22T00:00:00.000Z', 1],
  ['-90m', '2026-11-23T10:30:00.000Z', 3],
  ['2026-11-21', '2026-11-21T23:59:59.999Z', 1],
  ['2026-11-23', NOW, 3],
  ['2026-11-22T02:14:59Z', '2026-11-22T02:14:59.000Z', 1],
  ['2026-11-22t02:15', '2026-11-22T02:15:00.000Z', 2],
  ['2100-01-01', '2100-01-01T23:59:59.999Z', 3],
  ['20261122T021500Z', '2026-11-22T02:15:00.000Z', 2],
  ['20261121', '2026-11-21T02:15:00.000Z', 1],
  ['202610', '2026-10-20T02:15:00.000Z', 0],
])('%s is %s, in the state of the last run until then', async (text, at, run) => {
  const moment = await resolve(text);
  expect(moment.at.toISOString()).toBe(new Date(at).toISOString());
  expect(moment.run.as_of).toEqual(new Date(RUNS[run] ?? ''));
});

test.each([
  ['Europe/Berlin', 'yesterday', NOW, '2026-11-22T22:59:59.999Z'],
  ['America/New_York', 'yesterday', NOW, '2026-11-23T04:59:59.999Z'],
  ['America/New_York', 'yesterday', '2026-11-23T03:00:00Z', '2026-11-22T04:59:59.999Z'],
  ['Europe/Berlin', '2026-10-25', NOW, '2026-10-25T22:59:59.999Z'],
  ['Europe/Berlin', '2026-10-24', NOW, '2026-10-24T21:59:59.999Z'],
])('in %s, the end of %s at %s is %s', async (zone, text, now, at) => {
  expect((await resolve(text, zone, now)).at.toISOString()).toBe(at);
});

test.each([
  ...['monday', 'last funday', 'tomorrow', '-7y', '-d', '', '2026-02-30', '2026-11-20T25:00', 'x', '20270101T000000Z'],
  ...[
    "20261121' or 1=1",
    '9999-12-31',
    '9999-12-31T23:59:59-12:00',
    '0000-01-01T00:00:00+12:00',
    'constructor',
    '__proto__',
  ],
  ...['0206-11-20', '0000-01-01', '2026-02-30T10:00', '2027-02-29T00:00:00+01:00'],
])('%s names no moment', async (text) => {
  await expect(resolve(text)).rejects.toMatchObject({
    code: 'USAGE',
    message: `${text} names no moment`,
    hint: expect.stringContaining('last monday'),
  });
});

test('a beginning that several runs have is refused with their names', async () => {
  await expect(resolve('20261122')).rejects.toThrow(
    'several runs begin with 20261122: 20261122T233000Z, 20261122T021500Z-2, 20261122T021500Z',
  );
});

test('a time before the first pull is refused, because nothing of it is known', async () => {
  await expect(resolve('2026-10-19')).rejects.toThrow(
    '2026-10-19: 2026-10-19T23:59:59.999Z is before the first pull, 2026-10-20T02:15:00Z',
  );
  await expect(resolve('2026-10-20T02:14:59Z')).rejects.toThrow(/^2026-10-20T02:14:59Z is before the first pull, /u);
});
