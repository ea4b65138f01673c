import type { Thresholds } from '../core/config.ts';
import { TidemarkError } from '../core/errors.ts';
import { nearestName } from '../core/yaml-file.ts';
import type { Database, Params } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import { type DataOptions, parametersOf, type ReportData, readReport, summariesOf, usesSummaries } from './data.ts';
import { loadReports, type Report } from './definitions.ts';

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
  readonly params: Params;
  /** The data of each report in turn; while one is in use, the next is already asked for. */
  readonly reports: () => AsyncGenerator<{ readonly report: Report; readonly data: ReportData }>;
}

/** Prepares the reading of reports. @throws TidemarkError USAGE for an unknown report, DATA for a query that fails */
export async function openReading(options: ReadOptions): Promise<Reading> {
  const { database, files, asOf } = options;
  const known = await loadReports(files);
  const reports = chosen(known, options.names);
  // The published file is open for reading only: what the queries call must live in this connection.
  await database.run(await files.filled('warehouse/semver_key', { kind: 'temp macro' }));
  const dataOptions: DataOptions = { ...options, freshAt: options.freshAt ?? asOf };
  const params = parametersOf(dataOptions);
  const used = reports.some(({ summary, datasets }) => [summary, ...datasets].some(usesSummaries));
  const summaries = used ? await summariesOf(known.values(), dataOptions) : undefined;
  const all = { ...params, ...(summaries && { summaries: summaries.json }) };
  const read = (report: Report) => readReport(report, dataOptions, all, summaries?.rows.get(report.name));
  return { known, params: all, reports: () => oneAhead(reports, read) };
}

async function* oneAhead(
  reports: readonly Report[],
  read: (report: Report) => Promise<ReportData>,
): AsyncGenerator<{ report: Report; data: ReportData }> {
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
