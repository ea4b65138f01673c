import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../src/core/paths.ts';
import { literal, quoted, sqlFiles } from '../src/warehouse/sql-files.ts';
import { loadTables } from '../src/warehouse/tables.ts';
import { prepare, serving, writeConfig } from './estate.ts';
import { bare, TIDEMARK, timed, type Usage } from './processes.ts';
import { type Bench, mebibytes, median, type Part, type Result, type Round, ratioOf, seconds } from './result.ts';

const RUNS = 5;
const MANY = 200_000;
const MORE = 1_000_000;
const MAX_MIB = 700;

export const csv: Part = {
  name: 'csv',
  about:
    'pull of a 200,000-row CSV held against the bare read_csv of the same file; peak memory there and at 1,000,000 rows',
  async measure(bench) {
    await prepare({ folder: join(bench.folder, 'many'), workspaces: MANY, as: 'csv' });
    await prepare({ folder: join(bench.folder, 'more'), workspaces: MORE, as: 'csv' });
    return serving(bench.folder, async (url) => {
      const many = await rounds(bench, url);
      bench.say(`a pull of ${MORE.toLocaleString('en')} rows`);
      const more = await nights(bench, `${url}/more`, 'more');
      return [...speed(many), ...memory(many, more)];
    });
  },
};

interface Nights {
  readonly first: Usage;
  readonly second: Usage;
}

interface Both extends Nights {
  readonly bare: Usage;
}

/** Bare and pull in turn, so that a slower moment of the machine slows both. */
async function rounds(bench: Bench, url: string): Promise<readonly Both[]> {
  const sql = await bareSql(join(bench.folder, 'many', 'night1', 'workspaces.csv'));
  const all: Both[] = [];
  for (let round = 1; round <= RUNS; round++) {
    const file = join(bench.folder, 'bare.duckdb');
    const alone = await bare(bench.folder, 'bare-sql', [file, sql]);
    await rm(file);
    const { first, second } = await nights(bench, `${url}/many`, `many-${round}`);
    bench.say(
      `round ${round} of ${RUNS}: bare ${seconds(alone.wallMs)}, first night ${seconds(first.wallMs)}, second ${seconds(second.wallMs)}`,
    );
    all.push({ bare: alone, first, second });
  }
  return all;
}

/** `tidemark pull` of the first night into no warehouse yet, and of the second, where 2 % have changed. */
async function nights(bench: Bench, url: string, name: string): Promise<Nights> {
  const folder = join(bench.folder, `pull-${name}`);
  await mkdir(folder);
  const pull = async (night: string, day: string) => {
    const config = await writeConfig(folder, night, { url: `${url}/${night}` });
    const now = `2026-11-${day}T02:15:00Z`;
    return timed(folder, [TIDEMARK, '--config', config, '--quiet', '--now', now, 'pull', '--source', 'workspaces']);
  };
  const usage = { first: await pull('night1', '01'), second: await pull('night2', '02') };
  await rm(folder, { recursive: true });
  return usage;
}

/** Every column typed as the table declares it, by the file's own header. */
async function bareSql(file: string): Promise<string> {
  const tables = await loadTables(sqlFiles([PACKAGE_ROOT]));
  const types = new Map(tables.get('workspaces')?.columns.map(({ name, type }) => [name, type]));
  const header = (await readFile(file, 'utf8')).split('\n', 1)[0] ?? '';
  const columns = header.split(',').map((name) => `${quoted(name)}: ${literal(types.get(name) ?? 'varchar')}`);
  return `create table workspaces as from read_csv(${literal(file)}, header = true, auto_detect = false,
    delim = ',', quote = '"', escape = '"', nullstr = '', columns = {${columns.join(', ')}})`;
}

function speed(all: readonly Both[]): readonly Result[] {
  const rounds = (night: 'first' | 'second'): readonly Round[] =>
    all.map((one) => ({ measured: one[night].wallMs, against: one.bare.wallMs }));
  const whose = 'for the bare `read_csv` into a new file';
  const what = 'pull of a 200,000-row CSV, history and publishing included, first night';
  return [
    { part: 'csv', what, ...ratioOf(rounds('first'), seconds, whose), aim: 2 },
    {
      part: 'csv',
      what: 'the same, second night, 2 % changed',
      ...ratioOf(rounds('second'), seconds, whose),
      aim: 2.5,
    },
  ];
}

function memory(many: readonly Both[], more: Nights): readonly Result[] {
  const peak = ({ first, second }: Nights) => Math.max(first.peakMiB, second.peakMiB);
  const usual = median(many.map(peak));
  const result = (what: string, measured: number, limit: number, against: string, aim: number): Result => {
    return { part: 'csv', what, measured: mebibytes(measured), against, ratio: measured / limit, aim };
  };
  return [
    result('peak memory of the process, 200,000 rows', usual, MAX_MIB, mebibytes(MAX_MIB), 1),
    result('peak memory at 1,000,000 rows', peak(more), usual, `${mebibytes(usual)} at 200,000 rows`, 1.3),
  ];
}
