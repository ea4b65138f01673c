import { createReadStream, createWriteStream } from 'node:fs';
import { appendFile, copyFile, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { quoteLiteral } from '../src/warehouse/sql-files.ts';
import { serveMessages } from './processes.ts';
import {
  exportPath,
  findRecorded,
  type RecordedIndex,
  readBody,
  readIndex,
  saveBody,
  TOTAL_PATH,
  VIEWS,
  type View,
} from './recorded.ts';

/** Makes a recorded estate larger: every workspace is repeated under other names, row by row, so that no size fills the memory. */
export interface MultiplyRequest {
  /** A folder that `prepare.ts` filled with CSV exports. */
  readonly from: string;
  readonly to: string;
  readonly times: number;
}

export const main = () => serveMessages(multiply);

/** The list of workspaces of a version is one cell. */
const MAX_LINE_BYTES = 1_000_000_000;

async function multiply({ from, to, times }: MultiplyRequest): Promise<void> {
  for (const day of ['day1', 'day2']) {
    const source = join(from, day);
    const target = join(to, day);
    await mkdir(target, { recursive: true });
    await copyFile(join(source, 'bodies'), join(target, 'bodies'));
    const index = await readIndex(source);
    const first = await readBody(source, findRecorded(index, TOTAL_PATH));
    await appendText(target, index, TOTAL_PATH, multiplyTotal(first, times));
    for (const view of VIEWS) await multiplyView(source, target, index, view, times);
    await writeFile(join(target, 'index.json'), JSON.stringify(index));
  }
}

async function multiplyView(
  source: string,
  target: string,
  index: RecordedIndex,
  view: View,
  times: number,
): Promise<void> {
  const small = join(target, 'small.csv');
  const large = join(target, 'large.csv');
  await saveBody(source, findRecorded(index, exportPath(view)), small);
  await copyRows(small, large, view, times);
  await appendBody(target, index, exportPath(view), large);
  await Promise.all([rm(small), rm(large)]);
}

/** Repeats the rows of workspaces, and the names in the lists of workspaces. */
async function copyRows(small: string, large: string, view: View, times: number): Promise<void> {
  const rows = `read_csv(${quoteLiteral(small)}, header = true, all_varchar = true, max_line_size = ${MAX_LINE_BYTES}, parallel = false)`;
  const names = `array_to_string(flatten(list_transform(range(${times}), lambda n: list_transform(
    string_split(workspaces, ', '), lambda name: name || '-' || n))), ', ')`;
  const query =
    view === 'workspaces'
      ? `select * replace (external_id || '-' || n as external_id, workspace_name || '-' || n as workspace_name)
         from ${rows}, range(${times}) copies(n)`
      : `select * replace ((workspace_count::bigint * ${times})::varchar as workspace_count, ${names} as workspaces)
         from ${rows}`;
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`copy (${query}) to ${quoteLiteral(large)} (header, force_quote *)`);
  connection.closeSync();
  instance.closeSync();
}

async function appendText(target: string, index: RecordedIndex, path: string, text: string): Promise<void> {
  const { size: start } = await stat(join(target, 'bodies'));
  await appendFile(join(target, 'bodies'), text);
  index[path] = { ...findRecorded(index, path), start, bytes: Buffer.byteLength(text) };
}

async function appendBody(target: string, index: RecordedIndex, path: string, file: string): Promise<void> {
  const bodies = join(target, 'bodies');
  const { size: start } = await stat(bodies);
  const { size: bytes } = await stat(file);
  await pipeline(createReadStream(file), createWriteStream(bodies, { flags: 'a' }));
  index[path] = { ...findRecorded(index, path), start, bytes };
}

/** The first page, which says how many rows the export must have. */
function multiplyTotal(page: string, times: number): string {
  const document = JSON.parse(page) as { meta: { pagination: { 'total-count': number } } };
  document.meta.pagination['total-count'] *= times;
  return JSON.stringify(document);
}
