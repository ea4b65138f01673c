import { mkdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../src/core/paths.ts';
import { createSqlFiles, quoteIdent, quoteLiteral } from '../src/warehouse/sql-files.ts';
import { loadTables, type Table } from '../src/warehouse/tables.ts';
import { prepare, pullTwice, serving, type TwoPulls } from './estate.ts';
import { bare, type Usage } from './processes.ts';
import { exportPath, findRecorded, readIndex, saveBody, VIEWS, type View } from './recorded.ts';
import { type Bench, medianRatio, type Part, type Result, type Size, seconds } from './result.ts';

const ROUNDS: Readonly<Record<Size, number>> = { quick: 1, usual: 5, large: 7 };
const WORKSPACES: Readonly<Record<Size, number>> = { quick: 2000, usual: 200_000, large: 200_000 };

export const csv: Part = {
  name: 'csv',
  about: 'pulls of 200,000 workspaces by CSV with history, beside the bare `read_csv` of the same exports',
  async measure(bench) {
    const estate = await prepare(bench, { workspaces: WORKSPACES[bench.size], as: 'csv' });
    const statements = await bareStatements(join(bench.estates, estate, 'day1'), bench.folder);
    return serving(bench, async (url) => {
      const rounds: Compared[] = [];
      for (let round = 1; round <= ROUNDS[bench.size]; round++) {
        rounds.push(await measureRound(bench, `${url}/${estate}`, statements));
      }
      return [...compare('first', rounds), ...compare('second', rounds)];
    });
  },
};

interface Compared extends TwoPulls {
  readonly bare: Usage;
}

/** Alternates the bare statements and the pulls, so that a slow phase of the machine slows both. */
async function measureRound({ folder, log }: Bench, url: string, statements: readonly string[]): Promise<Compared> {
  const file = join(folder, 'bare.duckdb');
  const alone = await bare(folder, 'bare-sql', [file, ...statements]);
  await rm(file);
  const project = join(folder, 'project');
  await mkdir(project);
  const pulls = await pullTwice(project, url, 'csv');
  await rm(project, { recursive: true });
  const [first, second] = [pulls.first.wallMs, pulls.second.wallMs];
  log(`bare ${seconds(alone.wallMs)}, first pull ${seconds(first)}, second ${seconds(second)}`);
  return { bare: alone, ...pulls };
}

/** One statement for each view. The exports of the day are written to `folder`. */
async function bareStatements(day: string, folder: string): Promise<readonly string[]> {
  const tables = await loadTables(createSqlFiles([PACKAGE_ROOT]));
  const index = await readIndex(day);
  const statements: string[] = [];
  for (const view of VIEWS) {
    const file = join(folder, `${view}.csv`);
    await saveBody(day, findRecorded(index, exportPath(view)), file);
    statements.push(await bareStatement(tables, view, file));
  }
  return statements;
}

/** The columns of the file's header, with the types that the table declares. A line is at most as long as the file. */
async function bareStatement(tables: ReadonlyMap<string, Table>, view: View, file: string): Promise<string> {
  const types = new Map(tables.get(view)?.columns.map(({ name, type }) => [name, type]));
  const header = (await readFile(file, 'utf8')).split('\n', 1)[0] ?? '';
  const columns = header.split(',').map((name) => `${quoteIdent(name)}: ${quoteLiteral(types.get(name) ?? 'varchar')}`);
  const longest = view === 'workspaces' ? '' : `max_line_size = ${(await stat(file)).size},`;
  return `create table ${view} as from read_csv(${quoteLiteral(file)}, header = true, auto_detect = false, ${longest}
    delim = ',', quote = '"', escape = '"', nullstr = '', columns = {${columns.join(', ')}})`;
}

function compare(pull: 'first' | 'second', rounds: readonly Compared[]): readonly Result[] {
  const what = `${pull} pull with history${pull === 'second' ? ', 2 % changed' : ''}`;
  const whose = 'for `read_csv`';
  const ratio = (field: 'wallMs' | 'cpuMs') =>
    medianRatio(
      rounds.map((round) => ({ measured: round[pull][field], against: round.bare[field] })),
      seconds,
      whose,
    );
  return [
    { what: `${what}, time`, ...ratio('wallMs') },
    { what: `${what}, CPU time`, ...ratio('cpuMs'), isDetail: true },
  ];
}
