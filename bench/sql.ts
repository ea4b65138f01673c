import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { writeConfig } from './estate.ts';
import { bare, TIDEMARK, timed, type Usage } from './processes.ts';
import { type Bench, mebibytes, median, medianRatio, type Part, type Result, type Size, seconds } from './result.ts';

/** Rows of a result, and how often it is measured. */
type Sizes = readonly (readonly [rows: number, rounds: number])[];
/** Written by DuckDB's COPY in the reference. */
const FILES = ['csv', 'json', 'ndjson', 'parquet'] as const;
const FILE_SIZES: Readonly<Record<Size, Sizes>> = {
  quick: [
    [1000, 1],
    [10_000, 1],
  ],
  usual: [
    [10_000, 3],
    [1_000_000, 2],
  ],
  large: [
    [10_000, 5],
    [100_000, 3],
    [1_000_000, 3],
    [10_000_000, 1],
  ],
};
/** Written row by row in the reference, since DuckDB has no such format. */
const ROW_BY_ROW = ['table', 'line', 'markdown', 'xlsx'] as const;
/** Smaller: a million rows take a minute on both sides. */
const ROW_BY_ROW_SIZES: Readonly<Record<Size, Sizes>> = {
  quick: FILE_SIZES.quick,
  usual: [
    [10_000, 3],
    [200_000, 3],
  ],
  large: [
    [10_000, 5],
    [100_000, 3],
    [1_000_000, 3],
  ],
};
const MAX_RATIO = 1.3;
const MAX_GROWTH = 1.3;

export const sql: Part = {
  name: 'sql',
  about: 'small and large results in every format, compared with the Node API of DuckDB writing the same',
  async measure(bench) {
    await createWarehouse(bench.folder);
    const results: Result[] = [];
    for (const format of [...FILES, ...ROW_BY_ROW]) results.push(...(await measureFormat(bench, format)));
    return results;
  },
};

async function createWarehouse(folder: string): Promise<void> {
  await writeConfig(folder, 'tidemark', { url: 'https://tidemark.test' });
  await mkdir(join(folder, 'data'));
  const instance = await DuckDBInstance.create(join(folder, 'data', 'warehouse.duckdb'));
  const connection = await instance.connect();
  await connection.run('create table numbers as select range as i from range(1000)');
  connection.closeSync();
  instance.closeSync();
}

/** Eight columns as workspaces have them. */
const query = (rows: number) =>
  `select i as id, 'workspace-' || i as name, 'project "x", ' || i % 100 as project, i % 7 as runs, i / 3 as ratio, timestamptz '2026-01-01' + to_seconds(i) as changed_at, i % 2 = 0 as drifted, case when i % 3 > 0 then 'note' end as note from range(${rows}) t(i)`;

async function measureFormat(bench: Bench, format: string): Promise<readonly Result[]> {
  const isFile = FILES.some((name) => name === format);
  const results: Result[] = [];
  const peaks: number[] = [];
  const sizes = (isFile ? FILE_SIZES : ROW_BY_ROW_SIZES)[bench.size];
  for (const [rows, count] of sizes) {
    const rounds: { readonly ours: Usage; readonly theirs: Usage }[] = [];
    for (let round = 0; round < count; round++) rounds.push(await measureRound(bench.folder, format, isFile, rows));
    bench.log(
      `${format}, ${rows.toLocaleString('en')} rows: ${rounds.map(({ ours }) => seconds(ours.wallMs)).join(', ')}`,
    );
    peaks.push(median(rounds.map(({ ours }) => ours.peakMiB)));
    results.push({
      part: 'sql',
      what: `${format}, ${rows.toLocaleString('en')} rows`,
      ...medianRatio(
        rounds.map(({ ours, theirs }) => ({ measured: ours.wallMs, against: theirs.wallMs })),
        seconds,
        isFile ? 'for COPY' : 'row by row',
      ),
      aim: MAX_RATIO,
    });
  }
  return [...results, growth(format, peaks, sizes.at(0)?.[0] ?? 0)];
}

async function measureRound(folder: string, format: string, isFile: boolean, rows: number) {
  const target = join(folder, `result.${format}`);
  const database = join(folder, 'data', 'warehouse.duckdb');
  const theirs = await bare(folder, 'bare-query', [database, query(rows), target, isFile ? format : 'rows']);
  const ours = await timed(folder, [TIDEMARK, 'sql', query(rows), '--format', format, '-o', target]);
  await rm(target);
  return { ours, theirs };
}

/** Memory does not depend on the number of rows: many times as many may take little more. */
function growth(format: string, peaks: readonly number[], smallest: number): Result {
  const [small = Number.NaN, large = Number.NaN] = [peaks[0], peaks.at(-1)];
  return {
    part: 'sql',
    what: `${format}, peak memory of the largest result`,
    measured: mebibytes(large),
    against: `${mebibytes(small)} at ${smallest.toLocaleString('en')} rows`,
    ratio: large / small,
    aim: MAX_GROWTH,
  };
}
