import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../src/core/paths.ts';
import { createSqlFiles, quoteIdent, quoteLiteral } from '../src/warehouse/sql-files.ts';
import { loadTables } from '../src/warehouse/tables.ts';
import { prepare, serving, writeConfig } from './estate.ts';
import { bare, TIDEMARK, timed, type Usage } from './processes.ts';
import { type Bench, mebibytes, median, medianRatio, type Part, type Result, type Round, seconds } from './result.ts';

const ROUNDS = 5;
const MANY = 200_000;
const MORE = 1_000_000;
const MAX_MIB = 700;

export const csv: Part = {
  name: 'csv',
  about:
    'pull of a 200,000-row CSV compared with the bare read_csv of the same file; peak memory there and at 1,000,000 rows',
  async measure(bench) {
    await prepare({ folder: join(bench.folder, 'many'), workspaces: MANY, as: 'csv' });
    await prepare({ folder: join(bench.folder, 'more'), workspaces: MORE, as: 'csv' });
    return serving(bench.folder, async (url) => {
      const many = await rounds(bench, url);
      bench.log(`a pull of ${MORE.toLocaleString('en')} rows`);
      const more = await pullTwice(bench, `${url}/more`, 'more');
      return [...speed(many), ...memory(many, more)];
    });
  },
};

interface TwoPulls {
  readonly first: Usage;
  readonly second: Usage;
}

interface ComparedPulls extends TwoPulls {
  readonly bare: Usage;
}

/** Alternates the bare statement and the pulls, so that a slow phase of the machine slows both. */
async function rounds(bench: Bench, url: string): Promise<readonly ComparedPulls[]> {
  const sql = await bareSql(join(bench.folder, 'many', 'day1', 'workspaces.csv'));
  const all: ComparedPulls[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const file = join(bench.folder, 'bare.duckdb');
    const alone = await bare(bench.folder, 'bare-sql', [file, sql]);
    await rm(file);
    const { first, second } = await pullTwice(bench, `${url}/many`, `many-${round}`);
    bench.log(
      `round ${round} of ${ROUNDS}: bare ${seconds(alone.wallMs)}, first pull ${seconds(first.wallMs)}, second ${seconds(second.wallMs)}`,
    );
    all.push({ bare: alone, first, second });
  }
  return all;
}

/** Runs `tidemark pull` without a warehouse, and again after 2 % of the rows changed. */
async function pullTwice(bench: Bench, url: string, name: string): Promise<TwoPulls> {
  const folder = join(bench.folder, `pull-${name}`);
  await mkdir(folder);
  const pull = async (state: string, day: string) => {
    const config = await writeConfig(folder, state, { url: `${url}/${state}` });
    const now = `2026-11-${day}T02:15:00Z`;
    return timed(folder, [TIDEMARK, '--config', config, '--quiet', '--now', now, 'pull', '--source', 'workspaces']);
  };
  const usage = { first: await pull('day1', '01'), second: await pull('day2', '02') };
  await rm(folder, { recursive: true });
  return usage;
}

/** The columns of the file's header, with the types that the table declares. */
async function bareSql(file: string): Promise<string> {
  const tables = await loadTables(createSqlFiles([PACKAGE_ROOT]));
  const types = new Map(tables.get('workspaces')?.columns.map(({ name, type }) => [name, type]));
  const header = (await readFile(file, 'utf8')).split('\n', 1)[0] ?? '';
  const columns = header.split(',').map((name) => `${quoteIdent(name)}: ${quoteLiteral(types.get(name) ?? 'varchar')}`);
  return `create table workspaces as from read_csv(${quoteLiteral(file)}, header = true, auto_detect = false,
    delim = ',', quote = '"', escape = '"', nullstr = '', columns = {${columns.join(', ')}})`;
}

function speed(all: readonly ComparedPulls[]): readonly Result[] {
  const rounds = (pull: 'first' | 'second'): readonly Round[] =>
    all.map((one) => ({ measured: one[pull].wallMs, against: one.bare.wallMs }));
  const whose = 'for the bare `read_csv` into a new file';
  const what = 'pull of a 200,000-row CSV, history and publishing included, first pull';
  return [
    { part: 'csv', what, ...medianRatio(rounds('first'), seconds, whose), aim: 2 },
    {
      part: 'csv',
      what: 'the same, second pull, 2 % changed',
      ...medianRatio(rounds('second'), seconds, whose),
      aim: 2.5,
    },
  ];
}

function memory(many: readonly ComparedPulls[], more: TwoPulls): readonly Result[] {
  const peak = ({ first, second }: TwoPulls) => Math.max(first.peakMiB, second.peakMiB);
  const usual = median(many.map(peak));
  const result = (what: string, measured: number, limit: number, against: string, aim: number): Result => {
    return { part: 'csv', what, measured: mebibytes(measured), against, ratio: measured / limit, aim };
  };
  return [
    result('peak memory of the process, 200,000 rows', usual, MAX_MIB, mebibytes(MAX_MIB), 1),
    result('peak memory at 1,000,000 rows', peak(more), usual, `${mebibytes(usual)} at 200,000 rows`, 1.3),
  ];
}
