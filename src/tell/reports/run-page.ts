import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { formatTimestamp } from '../../core/clock.ts';
import { writeFileAtomic } from '../../core/fs.ts';
import { renderChangesBetween } from '../../warehouse/changes.ts';
import type { Statements } from '../../warehouse/database.ts';
import type { SqlFiles } from '../../warehouse/sql-files.ts';
import type { Row, Value } from '../../warehouse/values.ts';
import { queryDataset } from './data.ts';
import { loadDatasets } from './definitions.ts';
import { EMPTY_CELL, formatValue, inferKind } from './format.ts';
import type { Renderer } from './renderer.ts';
import { holdRows, toTableView } from './table-view.ts';

interface ReadOptions {
  readonly database: Pick<Statements, 'rows' | 'script'>;
  readonly files: SqlFiles;
  readonly asOf: Date;
}

interface RunPageOptions extends ReadOptions {
  readonly generatedAt: Date;
  readonly out: string;
}

/** The page of a run, below the folder of the reports. */
export function runPath(runId: string): string {
  return `runs/${encodeURIComponent(runId)}.html`;
}

type Run = NonNullable<Awaited<ReturnType<typeof findRun>>>;

/** The last run until `asOf`. */
export async function findRun({ database, files, asOf }: ReadOptions) {
  const [row] = await database.rows(files.read('runs/summary'), { as_of: asOf.toISOString() });
  const id = String(row?.run_id);
  return row && { id, path: runPath(id), row };
}

/** Writes the page of a run: a table for each file in `queries/runs/`. */
export async function writeRunPage(options: RunPageOptions, run: Run, renderer: Renderer): Promise<void> {
  const context = {
    ...(await viewRun(options, run)),
    generated_at: formatTimestamp(options.generatedAt),
    title: `Run ${run.id}`,
    root: '../',
  };
  await writeFileAtomic(join(options.out, run.path), renderer.page('run.hbs', 'index', context));
}

export async function viewRun(options: ReadOptions, { id, row }: Run) {
  return {
    id,
    run: Object.fromEntries(Object.entries(row).map(([name, value]) => [name, formatCell(value)])),
    isRunning: row.finished_at === null,
    sections: await readSections(options, row),
  };
}

async function readSections({ database, files }: ReadOptions, run: Row) {
  const to = String(run.started_at);
  const from = new Date(Date.parse(to) - 1).toISOString();
  const changes = await renderChangesBetween({ database, files }, { from, to });
  const params = {
    run_id: String(run.run_id),
    started_at: to,
    next_at: typeof run.next_at === 'string' ? run.next_at : null,
  };
  const none: ReadonlySet<string> = new Set();
  const options = { report: '', params, staleSources: none, unlinked: none, hasSeveralTargets: true };
  const sections: object[] = [];
  for (const dataset of loadDatasets('runs', files).toSorted((a, b) => a.order - b.order)) {
    const rows = await queryDataset(database, dataset, params, files.render(dataset.file, { changes }));
    sections.push({ ...toTableView(holdRows(dataset, rows), options), isCut: rows.length === MAX_ROWS });
  }
  return sections;
}

/** The limit of the queries. */
const MAX_ROWS = 500;

function formatCell(value: Value): string {
  return value === '' ? EMPTY_CELL : formatValue(value, inferKind('', [value]));
}

/** The last runs for the index, each with its page and its day in the archive where there is one. */
export async function listRuns({ database, files, asOf, out }: RunPageOptions, dates: readonly string[]) {
  const runs = await database.rows(files.read('reports/runs'), { as_of: asOf.toISOString() });
  return runs.map((run) => {
    const date = String(run.started_at).slice(0, 10);
    const page = runPath(String(run.run_id));
    return { ...run, date, archived: dates.includes(date), page: existsSync(join(out, page)) ? page : '' };
  });
}
