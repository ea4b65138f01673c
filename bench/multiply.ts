import { createReadStream, createWriteStream } from 'node:fs';
import { appendFile, mkdir, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { quoteLiteral } from '../src/warehouse/sql-files.ts';
import type { Recorded } from './prepare.ts';
import { serveMessages } from './processes.ts';

/** Makes a recorded estate larger: every workspace is repeated under other names, row by row, so that no size fills the memory. */
export interface MultiplyRequest {
  /** A folder that `prepare.ts` filled with CSV exports. */
  readonly from: string;
  readonly to: string;
  readonly times: number;
}

export const main = () => serveMessages(multiply);

type Index = Record<string, Recorded>;

const EXPORT = '/api/v2/organizations/acme/explorer/export/csv?type=';
const TOTAL = '/api/v2/organizations/acme/explorer?type=workspaces&page%5Bsize%5D=1';
/** The lists of workspaces of a version are one cell. */
const MAX_LINE_BYTES = 1_000_000_000;
const VIEWS = ['workspaces', 'tf_versions', 'providers', 'modules'] as const;

async function multiply({ from, to, times }: MultiplyRequest): Promise<void> {
  for (const day of ['day1', 'day2']) {
    const source = join(from, day);
    const target = join(to, day);
    await mkdir(target, { recursive: true });
    const index = JSON.parse(await readFile(join(source, 'index.json'), 'utf8')) as Index;
    const { start = 0, bytes = 0 } = index[TOTAL] ?? {};
    const first = await readPart(join(source, 'bodies'), start, bytes);
    await pipeline(createReadStream(join(source, 'bodies')), createWriteStream(join(target, 'bodies')));
    await append(target, index, TOTAL, withTotal(first, times));
    for (const view of VIEWS) await multiplyView(source, target, index, view, times);
    await writeFile(join(target, 'index.json'), JSON.stringify(index));
  }
}

async function multiplyView(source: string, target: string, index: Index, view: string, times: number): Promise<void> {
  const recorded = index[`${EXPORT}${view}`];
  if (!recorded) throw new Error(`${source} has no CSV export of ${view}`);
  const small = join(target, 'small.csv');
  const large = join(target, 'large.csv');
  const { start, bytes } = recorded;
  await pipeline(createReadStream(join(source, 'bodies'), { start, end: start + bytes - 1 }), createWriteStream(small));
  await copyRows(small, large, view, times);
  await appendFileTo(target, index, `${EXPORT}${view}`, large);
  await Promise.all([rm(small), rm(large)]);
}

/** Repeats the rows of workspaces, and the names in the lists of workspaces. */
async function copyRows(small: string, large: string, view: string, times: number): Promise<void> {
  const rows = `read_csv(${quoteLiteral(small)}, header = true, all_varchar = true, max_line_size = ${MAX_LINE_BYTES}, parallel = false)`;
  const names = `array_to_string(flatten(list_transform(range(${times}), lambda n: list_transform(string_split(workspaces, ', '),
    lambda name: name || '-' || n))), ', ')`;
  const query =
    view === 'workspaces'
      ? `select * replace (external_id || '-' || n as external_id, workspace_name || '-' || n as workspace_name)
         from ${rows}, range(${times}) copies(n)`
      : `select * replace ((workspace_count::bigint * ${times})::varchar as workspace_count, ${names} as workspaces) from ${rows}`;
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`copy (${query}) to ${quoteLiteral(large)} (header, force_quote *)`);
  connection.closeSync();
  instance.closeSync();
}

async function append(target: string, index: Index, path: string, text: string): Promise<void> {
  const { size } = await stat(join(target, 'bodies'));
  await appendFile(join(target, 'bodies'), text);
  index[path] = { ...known(index, path), start: size, bytes: Buffer.byteLength(text) };
}

async function appendFileTo(target: string, index: Index, path: string, file: string): Promise<void> {
  const bodies = join(target, 'bodies');
  const { size: start } = await stat(bodies);
  const { size: bytes } = await stat(file);
  await pipeline(createReadStream(file), createWriteStream(bodies, { flags: 'a' }));
  index[path] = { ...known(index, path), start, bytes };
}

function known(index: Index, path: string): Recorded {
  const recorded = index[path];
  if (!recorded) throw new Error(`no response was recorded for ${path}`);
  return recorded;
}

async function readPart(file: string, start: number, bytes: number): Promise<string> {
  const handle = await open(file);
  try {
    const { buffer } = await handle.read(Buffer.alloc(bytes), 0, bytes, start);
    return buffer.toString('utf8');
  } finally {
    await handle.close();
  }
}

/** The first page, which says how many rows the export must have. */
function withTotal(page: string, times: number): string {
  const document = JSON.parse(page) as { meta: { pagination: { 'total-count': number } } };
  document.meta.pagination['total-count'] *= times;
  return JSON.stringify(document);
}
