import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { bare, TIDEMARK, timed, type Usage } from './processes.ts';
import { type Bench, mebibytes, median, medianRatio, type Part, type Result, type Size, seconds } from './result.ts';
import { createProject } from './warehouse.ts';

/** Written by DuckDB's COPY in the reference. */
const FILES = ['csv', 'json', 'ndjson', 'parquet'] as const;
/** Made of the rows of the Node API in the reference, since DuckDB has no such format. */
const BY_ROWS = ['table', 'line', 'markdown', 'xlsx'] as const;
type Format = (typeof FILES)[number] | (typeof BY_ROWS)[number];

/** Rows of a result, and how often it is measured. */
const SIZES: Readonly<Record<Size, readonly (readonly [rows: number, rounds: number])[]>> = {
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
/** The size that the document shows. */
const SHOWN_ROWS = 1_000_000;
/** A sheet of Excel has no more, with its header. */
const XLSX_ROWS = 1_048_576;
const MAX_RATIO = 1.3;
const MAX_GROWTH = 1.3;

export const sql: Part = {
  name: 'sql',
  about:
    'results in every format, beside the Node API of DuckDB writing the same; memory of the largest beside the smallest',
  async measure(bench) {
    const { directory } = await createProject(bench.folder, 'project');
    const project = { ...bench, folder: directory };
    const times: Result[] = [];
    const growths: Result[] = [];
    for (const format of [...FILES, ...BY_ROWS]) {
      const { results, growth } = await measureFormat(project, format);
      times.push(...results);
      growths.push(growth);
    }
    growths.sort((a, b) => b.ratio - a.ratio);
    return [...times, ...growths.map((growth, index) => ({ ...growth, isDetail: index > 0 }))];
  },
};

/** Eight columns as workspaces have them. */
const query = (rows: number) =>
  `select i as id, 'workspace-' || i as name, 'project "x", ' || i % 100 as project, i % 7 as runs, i / 3 as ratio, timestamptz '2026-01-01' + to_seconds(i) as changed_at, i % 2 = 0 as drifted, case when i % 3 > 0 then 'note' end as note from range(${rows}) t(i)`;

async function measureFormat(bench: Bench, format: Format) {
  const isFile = FILES.some((name) => name === format);
  const results: Result[] = [];
  const peaks: number[] = [];
  const sizes = SIZES[bench.size].filter(([rows]) => format !== 'xlsx' || rows < XLSX_ROWS);
  for (const [rows, count] of sizes) {
    const rounds: { readonly ours: Usage; readonly theirs: Usage }[] = [];
    for (let round = 0; round < count; round++) rounds.push(await measureRound(bench.folder, format, rows));
    bench.log(
      `${format}, ${rows.toLocaleString('en')} rows: ${rounds.map(({ ours }) => seconds(ours.wallMs)).join(', ')}`,
    );
    peaks.push(median(rounds.map(({ ours }) => ours.peakMiB)));
    results.push({
      what: `${format}, ${rows.toLocaleString('en')} rows`,
      ...medianRatio(
        rounds.map(({ ours, theirs }) => ({ measured: ours.wallMs, against: theirs.wallMs })),
        seconds,
        isFile ? 'for COPY' : 'from the rows',
      ),
      aim: MAX_RATIO,
      isDetail: rows !== SHOWN_ROWS,
    });
  }
  return { results, growth: compareGrowth(format, peaks) };
}

async function measureRound(folder: string, format: Format, rows: number) {
  const target = join(folder, `result.${format}`);
  const reference = join(folder, `reference.${format}`);
  const database = join(folder, 'data', 'warehouse.duckdb');
  const theirs = await bare(folder, 'bare-query', [database, query(rows), reference, format]);
  const ours = await timed(folder, [TIDEMARK, 'sql', query(rows), '--format', format, '-o', target]);
  if (IDENTICAL.has(format)) await assertSameSize(target, reference);
  await rm(target);
  await rm(reference);
  return { ours, theirs };
}

/** Formats that the reference writes byte by byte as we do. COPY has another format of times, and a workbook another frame. */
const IDENTICAL: ReadonlySet<Format> = new Set(['table', 'line', 'markdown']);

async function assertSameSize(target: string, reference: string): Promise<void> {
  const [ours, theirs] = [(await stat(target)).size, (await stat(reference)).size];
  if (ours !== theirs)
    throw new Error(`${target} has ${ours} bytes, the reference ${theirs}: they do not write the same`);
}

/** Memory does not depend on the number of rows: many times as many may take little more. */
function compareGrowth(format: string, peaks: readonly number[]): Result {
  const [small = Number.NaN, large = Number.NaN] = [peaks[0], peaks.at(-1)];
  return {
    what: `${format}, peak memory`,
    measured: mebibytes(large),
    against: mebibytes(small),
    ratio: large / small,
    aim: MAX_GROWTH,
  };
}
