import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { thresholds } from '../../src/config/schema.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { renderReports } from '../../src/tell/reports/index.ts';
import { defineDeadlines, renderDeadlines } from '../../src/warehouse/deadlines.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { setEarlierVersion } from '../helpers/change-warehouse.ts';
import { createReportWarehouse, type ReportWarehouse } from '../helpers/report-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';

const AS_OF = '2026-11-20T02:15:00Z';
const root = (root_id: string, not_after: string | null, active = true) => ({
  root_id,
  name: root_id,
  active,
  not_after,
});
const leaf = (service: string, valid_after: string, valid_before: string) => ({ service, valid_after, valid_before });

async function pullAll(): Promise<ReportWarehouse> {
  const warehouse = await createReportWarehouse();
  await warehouse.pull(AS_OF, {
    ca_roots: [
      root('soon', '2026-12-01T00:00:00Z'),
      root('untold', null),
      root('retired', '2026-12-01T00:00:00Z', false),
    ],
    leaf_certificates: [
      leaf('renews', '2026-11-19T02:15:00Z', '2026-11-22T02:15:00Z'),
      leaf('stuck', '2026-11-17T04:15:00Z', '2026-11-20T04:15:00Z'),
      leaf('long', '2026-01-01T00:00:00Z', '2027-01-01T00:00:00Z'),
    ],
    keys: [{ name: 'pay', latest_version: 2 }],
    key_versions: [
      { key_name: 'pay', version: 1, creation_time: '2020-01-01T00:00:00Z' },
      { key_name: 'pay', version: 2, creation_time: '2026-08-20T00:00:00Z' },
    ],
    tokens: [{ accessor_id: 'a1', name: 'nightly', expires_at: '2026-11-21T00:00:00Z' }],
  });
  return warehouse;
}

const readEnds = async ({ database }: ReportWarehouse) =>
  (await database.rows('select kind, subject_id, ends_at from deadlines order by ends_at, kind')).map(
    ({ kind, subject_id, ends_at }) => `${ends_at} ${kind} ${subject_id}`,
  );

test('a key whose newest version has no reported age has no day in the calendar', async () => {
  const warehouse = await createReportWarehouse();
  const [old, newest] = [{ version: 1, creation_time: '2020-01-01T00:00:00Z' }, { version: 2 }];
  const versions = [old, newest].map((version) => ({ key_name: 'pay', ...version }));
  await warehouse.pull(AS_OF, { keys: [{ name: 'pay' }], key_versions: versions });
  expect(await readEnds(warehouse)).toEqual(['null key pay']);
});

test('the calendar has what people renew: certificates, tokens, keys; a short-lived leaf only once it was not renewed', async () => {
  const warehouse = await pullAll();
  expect(await readEnds(warehouse)).toEqual([
    '2026-11-18T00:00:00Z key pay',
    '2026-11-20T04:15:00Z leaf certificate stuck',
    '2026-11-21T00:00:00Z token acme',
    '2026-12-01T00:00:00Z CA root soon',
    '2027-01-01T00:00:00Z leaf certificate long',
    'null CA root untold',
  ]);
});

test('an acceptance is in the calendar while it lasts', async () => {
  const warehouse = await pullAll();
  await warehouse.database.run(
    `insert into findings by name select 'f1' as finding_id, 'acme' as target, 'drifted-workspace' as rule, 'warning' as severity,
     'workspace' as subject_type, 'ws-1' as subject_id, 'web' as subject_name, 'Workspace web drifts' as title, 'accepted' as state,
     timestamptz '${AS_OF}' as first_seen, timestamptz '${AS_OF}' as last_seen, 0 as times_reopened,
     timestamptz '2026-12-24T00:00:00Z' as accepted_until, 'ops' as accepted_owner`,
  );
  await warehouse.database.run(
    `insert into finding_events by name select 'f1' as finding_id, 'acme' as target, 'drifted-workspace' as rule,
     timestamptz '2026-11-10' as changed_at, 'accepted' as state, 'warning' as severity, 'accepted' as reason`,
  );
  const accepted = "select ends_at, what_to_do from deadlines_at($at) where kind = 'acceptance'";
  expect(await warehouse.database.rows(accepted, { at: AS_OF })).toEqual([
    {
      ends_at: '2026-12-24T00:00:00Z',
      what_to_do: 'repair it, or accept it again: Workspace web drifts (drifted-workspace, accepted by ops)',
    },
  ]);
  expect(await warehouse.database.rows(accepted, { at: '2026-11-09T00:00:00Z' })).toEqual([]);
});

test('a plan is in the calendar, with its approvals, until it ends or an action of it was begun', async () => {
  const warehouse = await pullAll();
  const plan = (plan_id: string, more: string) =>
    warehouse.database.run(
      `insert into plans by name select '${plan_id}' as plan_id, 'acme, vault' as target, 'trim-keys' as playbook, 2 as actions,
       timestamptz '2026-11-21T02:15:00Z' as expires_at, timestamptz '${AS_OF}' as seen_at ${more}`,
    );
  await plan('p-1', '');
  await plan('p-2', ", 'ann' as approved_by");
  await plan('p-3', '');
  await warehouse.database.run(
    `insert into actions by name select 'acme' as target, 'p-3' as plan_id, 'a1' as action_id, 'trim-keys' as playbook, 'x' as operation,
     'f' as finding_id, 'failed' as status, timestamptz '2026-11-20T03:00:00Z' as started_at`,
  );
  const plans =
    "select target, subject_id, what_to_do from deadlines_at($at) where kind = 'plan' order by subject_id, target";
  expect(await warehouse.database.rows(plans, { at: AS_OF })).toEqual([
    { target: 'acme', subject_id: 'p-1', what_to_do: 'approve and apply 2 actions: tidemark playbook show p-1' },
    { target: 'vault', subject_id: 'p-1', what_to_do: 'approve and apply 2 actions: tidemark playbook show p-1' },
    {
      target: 'acme',
      subject_id: 'p-2',
      what_to_do: 'apply 2 actions, approved so far by ann: tidemark playbook show p-2',
    },
    {
      target: 'vault',
      subject_id: 'p-2',
      what_to_do: 'apply 2 actions, approved so far by ann: tidemark playbook show p-2',
    },
  ]);
  expect(await warehouse.database.rows(plans, { at: '2026-11-21T02:15:00Z' })).toEqual([]);
});

/** Defines the calendar with queries of a user over the package's. */
async function define({ database }: ReportWarehouse, queries: Readonly<Record<string, string>>, values = {}) {
  const folder = await tempFolder();
  await mkdir(join(folder, 'queries', 'deadlines'), { recursive: true });
  for (const [name, sql] of Object.entries(queries)) await writeFile(join(folder, 'queries/deadlines', name), sql);
  const files = createSqlFiles([folder, PACKAGE_ROOT]);
  await defineDeadlines(database, files, await renderDeadlines(files, thresholds.parse(values)));
}

test('another query file adds its own kind, with the thresholds of the configuration', async () => {
  const warehouse = await pullAll();
  const lunch = `-- a comment with $nothing
    select 'acme' as target, 'support' as kind, 'v1' as subject_id, 'v1' as subject_name,
    $as_of::timestamptz + to_days($token_days::integer) as ends_at, 'upgrade; it''s time' as what_to_do;`;
  await define(warehouse, { 'support.sql': lunch }, { tokenDays: 3, keyRotationDays: 100 });
  const ends = await readEnds(warehouse);
  expect(ends).toContain('2026-11-23T02:15:00Z support v1');
  expect(ends).toContain('2026-11-28T00:00:00Z key pay');
});

test('a query that fails is an end that is not known, and takes no other kind away', async () => {
  const warehouse = await pullAll();
  await define(warehouse, {
    'broken.sql': 'select no_such_column from nowhere',
    'tokens.sql': 'selec',
    'typo.sql': 'select $thresold_days',
    'two.sql': 'select 1; select 2',
  });
  const { summary, unknown_ends, deadlines } = await warehouse.data('deadlines', AS_OF, ['unknown_ends', 'deadlines']);
  expect(summary).toMatchObject({ unknown_ends: 5, overdue: 1 });
  expect(unknown_ends).toMatchObject([
    { kind: 'CA root', subject_name: 'untold' },
    { kind: 'not known', subject_name: 'queries/deadlines/broken.sql', what_to_do: expect.stringContaining('nowhere') },
    { kind: 'not known', subject_name: 'queries/deadlines/tokens.sql' },
    {
      subject_name: 'queries/deadlines/two.sql',
      what_to_do: 'expected one statement, and there are several',
    },
    {
      subject_name: 'queries/deadlines/typo.sql',
      what_to_do: 'the query uses $thresold_days, which has no value',
    },
  ]);
  expect((deadlines as { kind: string }[]).map(({ kind }) => kind)).toEqual([
    'key',
    'leaf certificate',
    'CA root',
    'leaf certificate',
  ]);
});

test('the report draws the weeks, and reads a warehouse of an earlier version', async () => {
  const warehouse = await pullAll();
  const { weeks, summary } = await warehouse.data('deadlines', AS_OF, ['weeks']);
  expect(summary.headline).toBe('4 deadlines within 90 days, 2 of them within 7; 1 overdue; of 1 the end is not known');
  expect(
    (weeks as { week: string; deadlines: number }[]).map(({ week, deadlines }) => [week, deadlines]).slice(0, 4),
  ).toEqual([
    ['overdue', 1],
    ['2026-11-20', 2],
    ['2026-11-27', 1],
    ['2026-12-04', 0],
  ]);
  await warehouse.database.run('drop view deadlines');
  await warehouse.database.run('drop macro table deadlines_at');
  await setEarlierVersion(warehouse.database);
  expect((await warehouse.data('deadlines', AS_OF, ['weeks'])).summary).toEqual(summary);
});

const HOSTILE = 'a;b,c\\d\r\nBEGIN:VEVENT\u2028x\u001b[31m "<é😀漢'.repeat(5);

test('deadlines.ics has an event where a source is stale or was never pulled, and where an end is not known', async () => {
  const warehouse = await createReportWarehouse();
  const read = async (asOf: string) => {
    await renderReports({ ...warehouse.options(asOf), names: ['deadlines'] });
    const text = await readFile(join(warehouse.directory, 'out', 'deadlines.ics'), 'utf8');
    return text.replaceAll('\r\n ', '').split('\r\n');
  };
  await warehouse.pull(AS_OF, { ca_roots: [root('r1', '2026-12-01T00:00:00Z'), root('r2', null)] });
  const lines = await read(AS_OF);
  expect(lines.filter((line) => line.startsWith('SUMMARY'))).toEqual([
    'SUMMARY:CA root r1 ends (acme)',
    'SUMMARY:5 sources were never pulled: other deadlines may be near',
    'SUMMARY:1 end is not known: other deadlines may be near',
  ]);
  const failed = '2026-11-21T02:15:00.123Z'; // as a clock gives it
  await warehouse.pull(failed, { ca_roots: 'failed' });
  const stale = await read(failed);
  const at = stale.indexOf('UID:stale@tidemark');
  expect(stale.slice(at + 1, at + 5)).toEqual([
    'DTSTAMP:20261121T021500Z',
    'DTSTART:20261121T021500Z',
    'SUMMARY:1 source is stale: other deadlines may be near',
    String.raw`DESCRIPTION:acme: ca_roots\, as of 2026-11-20 02:15\n`,
  ]);
});

test('deadlines.ics keeps hostile names within their lines, and an event its UID when its end moves', async () => {
  const warehouse = await createReportWarehouse();
  const write = async (asOf: string, not_after: string) => {
    await warehouse.pull(asOf, { ca_roots: [{ ...root('r1', not_after), name: HOSTILE }] });
    await renderReports({ ...warehouse.options(asOf), names: ['deadlines'] });
    return readFile(join(warehouse.directory, 'out', 'deadlines.ics'), 'utf8');
  };
  const first = await write(AS_OF, '2026-12-01T00:00:00Z');
  const lines = first.split('\r\n');
  expect(lines.pop()).toBe('');
  expect(lines.filter((line) => /[\p{Cc}\u2028]/u.test(line) || Buffer.byteLength(line) > 75)).toEqual([]);
  expect(lines.filter((line) => line === 'BEGIN:VEVENT')).toHaveLength(2); // the root, and the sources that were never pulled
  const unfolded = first.replaceAll('\r\n ', '');
  expect(unfolded).toContain(String.raw`SUMMARY:CA root a\;b\,c\\d\nBEGIN:VEVENT\nx[31m "<é😀漢a\;b`);
  const second = (await write('2026-11-21T02:15:00Z', '2027-02-01T00:00:00Z')).replaceAll('\r\n ', '');
  const read = (text: string, name: string) => new RegExp(`^${name}:(.*)\r$`, 'mu').exec(text)?.[1];
  expect(read(second, 'UID')).toBe(read(unfolded, 'UID'));
  expect([read(unfolded, 'DTSTART'), read(second, 'DTSTART')]).toEqual(['20261201T000000Z', '20270201T000000Z']);
  expect(read(second, 'DTSTAMP')).toBe('20261121T021500Z');
});
