import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Target } from '../../src/config/config.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { itemTexts } from '../../src/extract/sources/shared/snapshot-pages.ts';
import { cleanJson } from '../../src/landing/rows.ts';
import { LandingWriter } from '../../src/landing/writer.ts';
import { tempFolder } from '../helpers/temp.ts';

const COLUMNS = ['view', 'position', 'text'];
/** Rows of a kilobyte: more than are kept in memory. */
const MANY = 2000;
const TEXT = `line\n${'x'.repeat(1000)}`;

async function openLanding() {
  const directory = join(await tempFolder(), 'acme');
  const redactor = new Redactor();
  redactor.add('token-of-the-target');
  const landing = new LandingWriter({
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

/** The views of the rows of a file, one letter for each run of rows of a view. */
function findRuns(csv: string): string {
  return [...csv.matchAll(/^"(\w)","\d+",/gmu)]
    .map(([, view]) => view)
    .join('')
    .replaceAll(/(\w)\1*/gu, '$1');
}

test('rows that are collected at the same time are written one collection after another, however many they are', async () => {
  const { landing, directory } = await openLanding();
  const [large, small, second] = [1, 2, 3].map(() => landing.collectRows(COLUMNS));
  for (let position = 1; position <= MANY; position++) {
    await Promise.all([large?.add([['a', String(position), TEXT]]), second?.add([['c', String(position), TEXT]])]);
  }
  await small?.add([['b', '1', 'short']]);
  expect(readdirSync(directory).sort()).toEqual(['saved_view_rows.rows-1.part', 'saved_view_rows.rows-3.part']);
  await Promise.all([large, small, second].map((rows) => rows?.write()));
  const { files } = await landing.commit();
  const csv = Buffer.from(readLanded(directory));
  expect(files).toEqual([
    {
      file: 'saved_view_rows.csv.gz',
      format: 'csv',
      columns: COLUMNS,
      bytes: csv.length,
      sha256: createHash('sha256').update(csv).digest('hex'),
      longestLine: expect.any(Number),
    },
  ]);
  const text = csv.toString();
  expect(findRuns(text)).toHaveLength(3);
  expect(text.match(/^"[ac]","\d+","line\nx{1000}"$/gmu)).toHaveLength(2 * MANY);
  expect(text.match(/^view,position,text$/gmu)).toHaveLength(1);
  expect(text).toContain('"b","1","short"');
  expect(readdirSync(directory).sort()).toEqual(['saved_view_rows.csv.gz', 'saved_view_rows.json']);
});

test('rows that are cleared or discarded are not written, and leave no file', async () => {
  const { landing, directory } = await openLanding();
  const cleared = landing.collectRows(COLUMNS);
  const discarded = landing.collectRows(COLUMNS);
  for (let position = 1; position <= MANY; position++) {
    await cleared.add([['a', String(position), TEXT]]);
    await discarded.add([['b', String(position), TEXT]]);
  }
  await cleared.clear();
  await cleared.add([['a', '1', 'again']]);
  await cleared.write();
  await discarded.discard();
  await landing.commit();
  expect(readLanded(directory)).toBe('view,position,text\n"a","1","again"\n');
  expect(readdirSync(directory).sort()).toEqual(['saved_view_rows.csv.gz', 'saved_view_rows.json']);
});

test('a half of a character in a body, which DuckDB refuses, is replaced', () => {
  const json = '{"half":"x\\ud83d","whole":"\\ud83d\\ude00","path":"C:\\\\ud83d"}';
  expect(JSON.parse(cleanJson(json))).toEqual({ half: 'x\ufffd', whole: '😀', path: 'C:\\ud83d' });
});

const hasDescriptors = existsSync('/proc/self/fd');
if (!hasDescriptors) console.warn('open files are not counted: this system has no /proc/self/fd');

test.runIf(hasDescriptors)('lines that are all rolled back leave no file, and none is open', async () => {
  const { landing, directory } = await openLanding();
  await landing.writeJson({ text: TEXT });
  await landing.checkpoint(); // all lines are on the disk
  await landing.rollback();
  expect(await listOpenFiles(directory)).toHaveLength(1);
  const { files } = await landing.commit();
  expect(files).toEqual([]);
  expect(readdirSync(directory)).toEqual(['saved_view_rows.json']);
  expect(await listOpenFiles(directory)).toEqual([]);
});

test('the items of a page are written as they are, unless something of the page has to be masked', async () => {
  const { landing, directory } = await openLanding();
  const rows = landing.collectRows(COLUMNS);
  const add = (view: string, page: string) =>
    rows.add(itemTexts(landing.mask(`{"data":${page}}`)).map((item) => [landing.mask(view), '1', cleanJson(item)]));
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
  await rows.write();
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
