import type { Thresholds } from '../core/config.ts';
import { TidemarkError } from '../core/errors.ts';
import { nearestName } from '../core/yaml-file.ts';
import type { Database, Params } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import { type DataOptions, orProblem, parametersOf, type ReportData, readReport, summariesOf } from './data.ts';
import { loadReports, type Report } from './definitions.ts';
import { playbooksParameter } from './playbooks.ts';

export interface ReadOptions {
  /** The published warehouse, open for reading, or the working one. */
  readonly database: Database;
  readonly files: SqlFiles;
  /** Where `reports/` is looked for, the first one wins. */
  readonly roots: readonly string[];
  /** @default every report there is */
  readonly names?: readonly string[];
  /** The moment that the reports tell of. */
  readonly asOf: Date;
  /** The moment that the age of sources is judged at. @default asOf */
  readonly freshAt?: Date;
  readonly generatedAt: Date;
  readonly thresholds: Thresholds;
}

export interface Reading {
  readonly known: ReadonlyMap<string, Report>;
  /** Names of the reports that are not among those asked for: nothing may link to their pages. */
  readonly absent: ReadonlySet<string>;
  readonly params: Params;
  /** Each report in turn; while one is in use, the next is already asked for. */
  readonly reports: () => AsyncGenerator<ReadOne>;
}

/** A report with its data, or with why it has none. */
export interface ReadOne {
  readonly report: Report;
  readonly data: ReportData | TidemarkError;
}

/** Prepares the reading of reports. @throws TidemarkError USAGE for an unknown report */
export async function openReading(options: ReadOptions): Promise<Reading> {
  const { database, files, asOf } = options;
  const known = await loadReports(files);
  const reports = chosen(known, options.names);
  // The published file is open for reading only: what the queries call must live in this connection.
  await database.run(await files.filled('warehouse/semver_key', { kind: 'temp macro' }));
  const dataOptions: DataOptions = { ...options, freshAt: options.freshAt ?? asOf };
  const asked = parametersIn(reports);
  const summaries = asked.has('summaries') ? await summariesOf(known.values(), dataOptions) : undefined;
  const params = {
    ...parametersOf(dataOptions),
    ...(summaries && { summaries: summaries.json }),
    ...(asked.has('summaries_before') && { summaries_before: await summariesBefore(known, dataOptions) }),
    ...(asked.has('playbooks') && { playbooks: await playbooksParameter() }),
  };
  const read = (report: Report) => orProblem(readReport(report, dataOptions, params, summaries?.rows.get(report.name)));
  const asking = new Set(reports.map(({ name }) => name));
  const absent = new Set([...known.keys()].filter((name) => !asking.has(name)));
  return { known, absent, params, reports: () => oneAhead(reports, read) };
}

/** Names of the costly parameters that some query of the reports asks for. */
function parametersIn(reports: readonly Report[]): ReadonlySet<string> {
  const queries = reports.flatMap(({ summary, datasets }) => [summary, ...datasets]);
  return new Set(queries.flatMap(({ sql }) => [...sql.matchAll(/\$(\w+)/gu)].map(([, name = '']) => name)));
}

/** The summaries as they stood with the run before: `{}` where there was none. */
async function summariesBefore(known: ReadonlyMap<string, Report>, options: DataOptions): Promise<string> {
  const { database, files, asOf } = options;
  const [row] = await database.rows(await files.text('reports/previous_moment'), { as_of: asOf.toISOString() });
  if (typeof row?.moment !== 'string') return '{}';
  return (await summariesOf(known.values(), { ...options, asOf: new Date(row.moment) })).json;
}

async function* oneAhead(
  reports: readonly Report[],
  read: (report: Report) => Promise<ReadOne['data']>,
): AsyncGenerator<ReadOne> {
  const [first] = reports;
  let next = first && read(first);
  try {
    for (const [index, report] of reports.entries()) {
      const data = await next;
      const following = reports[index + 1];
      next = following && read(following);
      if (data) yield { report, data };
    }
  } finally {
    await Promise.allSettled([next]); // whoever stops early must not leave a query running on a connection that closes
  }
}

function chosen(known: ReadonlyMap<string, Report>, names: readonly string[] | undefined): readonly Report[] {
  if (!names) return [...known.values()];
  return [...new Set(names)].map((name) => {
    const report = known.get(name);
    if (report) return report;
    const nearest = nearestName(name, known.keys());
    throw new TidemarkError('USAGE', `there is no report ${name}`, {
      hint: nearest ? `did you mean ${nearest}?` : `there are ${[...known.keys()].join(', ')}`,
    });
  });
}
