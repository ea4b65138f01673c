import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Target } from '../../src/config/config.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { cleanJson } from '../../src/core/redact/secret-fields.ts';
import { itemTexts } from '../../src/extract/sources/shared/snapshot-pages.ts';
import { formatRow } from '../../src/landing/csv.ts';
import { landingBytes } from '../../src/landing/store.ts';
import { createLandingWriter } from '../../src/landing/writer.ts';
import { tempFolder } from '../helpers/temp.ts';

const COLUMNS = ['view', 'position', 'text'];
const TEXT = `line\n${'x'.repeat(1000)}`;

async function openLanding() {
  const directory = join(await tempFolder(), 'acme');
  const redactor = new Redactor();
  redactor.add('token-of-the-target');
  const landing = createLandingWriter({
    directory,
    source: 'saved_view_rows',
    target: { name: 'acme', url: 'http://127.0.0.1:1', mounts: {}, services: [] } as unknown as Target,
    runId: '20261120T021500Z-aaaa',
    asOf: '2026-11-20T02:15:00.000Z',
    redactor,
  });
  return { landing, directory };
}

const readLanded = (directory: string) =>
  gunzipSync(readFileSync(join(directory, 'saved_view_rows.csv.gz'))).toString();

/** The files below a folder that this process has open. */
async function listOpenFiles(directory: string): Promise<readonly string[]> {
  const open = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => 'closed'));
  return (await Promise.all(open)).filter((path) => path.startsWith(directory));
}

test('a half of a character in a body, which DuckDB refuses, is replaced', () => {
  const json = '{"half":"x\\ud83d","whole":"\\ud83d\\ude00","path":"C:\\\\ud83d"}';
  expect(JSON.parse(cleanJson(json))).toEqual({ half: 'x\ufffd', whole: '😀', path: 'C:\\ud83d' });
});

test('of two fields with the same name the last one counts, also where a secret is dropped', () => {
  const json = '{"id":"a","id":"b","__proto__":{"token":"s","n":12345678901234567890},"token":"s"}';
  expect(cleanJson(json)).toBe('{"id":"b","__proto__":{"n":12345678901234567890}}');
});

const hasDescriptors = existsSync('/proc/self/fd');
if (!hasDescriptors) console.warn('open files are not counted: this system has no /proc/self/fd');

test.runIf(hasDescriptors)('lines that are all rolled back leave no file, and none is open', async () => {
  const { landing, directory } = await openLanding();
  const start = await landing.checkpoint();
  await landing.writeJson({ text: TEXT });
  await landing.checkpoint(); // all lines are on the disk
  await landing.rollback(start);
  expect(await listOpenFiles(directory)).toHaveLength(1);
  const { files } = await landing.commit();
  expect(files).toEqual([]);
  expect(readdirSync(directory)).toEqual(['saved_view_rows.json']);
  expect(await listOpenFiles(directory)).toEqual([]);
});

test('the items of a page are written as they are, unless something of the page has to be masked', async () => {
  const { landing, directory } = await openLanding();
  const add = async (view: string, page: string) => {
    for (const item of itemTexts(landing.mask(`{"data":${page}}`)))
      await landing.writeCsv(COLUMNS, formatRow([landing.mask(view), '1', cleanJson(item)]));
  };
  await add('a', '[{"n":1.50,"s":"x, \\"y\\""}]');
  // In each of these, one item must not reach the disk as it is.
  const masked = [
    '{"password":"p"}',
    '{"s":"token-of-the-target"}',
    '{"s":"\\u0074oken-of-the-target"}',
    '{"s":\n"token-of-the-target"}',
  ];
  for (const text of masked) await add('b', `[{"n":2.0},${text}]`);
  await add('token-of-the-target', '[{"n":4}]');
  await add('c', '[]');
  await landing.commit();
  const lines = readLanded(directory).trimEnd().split('\n').slice(1);
  const unmasked = '"b","1","{""n"":2.0}"';
  expect(lines).toEqual([
    '"a","1","{""n"":1.50,""s"":""x, \\""y\\""""}"',
    ...[unmasked, '"b","1","{}"'],
    ...[unmasked, '"b","1","{""s"":""***""}"'],
    ...[unmasked, '"b","1","{""s"":""***""}"'],
    ...[unmasked, '"b","1","{""s"": ""***""}"'],
    '"***","1","{""n"":4}"',
  ]);
});

test('what a response shows as a secret is masked in its own line, and not in the rows of others', async () => {
  const { landing, directory } = await openLanding();
  await landing.writeJson({ id: 'a' }, '{"ID":"a","Parameters":{"api_token":"payments-db"},"Context":"payments-db"}');
  await landing.writeJson({ id: 'payments-db' }, '{"ID":"payments-db","Note":"token-of-the-target"}');
  await landing.commit();
  const lines = gunzipSync(readFileSync(join(directory, 'saved_view_rows.ndjson.gz')))
    .toString()
    .trim()
    .split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { id: 'a', body: { ID: 'a', Parameters: {}, Context: '***' } },
    { id: 'payments-db', body: { ID: 'payments-db', Note: '***' } },
  ]);
});

test('parts that are unknown, however many, are in the manifest, and none that came after a checkpoint', async () => {
  const { landing } = await openLanding();
  const add = (value: string) => landing.addUnknown({ column: 'pool_id', value, reason: 'not token-of-the-target' });
  for (let index = 0; index < 20_000; index += 1) add(`apool-${index}`);
  const checkpoint = await landing.checkpoint();
  add('later');
  await landing.rollback(checkpoint);
  const { unknown_parts = [] } = await landing.commit();
  expect(unknown_parts).toHaveLength(20_000);
  expect(unknown_parts.at(-1)).toMatchObject({ value: 'apool-19999', reason: expect.not.stringContaining('token-of') });
});

test('a part that is unknown has the values of its rows: masked where a secret is in them', async () => {
  const { landing, directory } = await openLanding();
  const within = { column: 'plugin_id', value: 'token-of-the-target' };
  landing.addUnknown({ column: 'namespace', value: 'x-token-of-the-target', within, reason: 'down' });
  landing.addUnknown({ column: 'namespace', value: null, reason: 'down' });
  const { unknown_parts } = await landing.commit();
  expect(unknown_parts).toEqual([
    { column: 'namespace', value: 'x-***', within: { column: 'plugin_id', value: '***' }, reason: 'down' },
    { column: 'namespace', value: null, reason: 'down' },
  ]);
  expect(readFileSync(join(directory, 'saved_view_rows.json'), 'utf8')).not.toContain('token-of');
});

test('a landing that is removed while its size is measured is no error', async () => {
  const directory = await tempFolder();
  for (let count = 0; count < 100; count++) await writeFile(join(directory, `${count}.json`), '{}');
  const [bytes] = await Promise.all([landingBytes(directory), rm(directory, { recursive: true })]);
  expect(bytes).toBeLessThanOrEqual(200);
  expect(await landingBytes(directory)).toBe(0);
});
