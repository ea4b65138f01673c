import { formatTimestamp } from '../core/clock.ts';
import { TidemarkError } from '../core/errors.ts';
import { plural } from '../core/plural.ts';
import { queryDataset, type ReportState, refuseUnknownNames } from '../tell/reports/data.ts';
import { type Dataset, loadFleetReport } from '../tell/reports/definitions.ts';
import { formatNumber } from '../tell/reports/format.ts';
import { createRenderer } from '../tell/reports/renderer.ts';
import { writeReport } from '../tell/reports/write-report.ts';
import type { TakeRows } from '../warehouse/database.ts';
import type { OpenWarehouse } from '../warehouse/session.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import type { Row } from '../warehouse/values.ts';

export function listFleetQueries(files: SqlFiles): readonly string[] {
  const { summary, datasets } = loadFleetReport(files);
  return [summary, ...datasets].map(({ sql }) => sql);
}

/**
 * Writes `fleet.html`, `fleet.txt`, `fleet.json` and CSV files of long tables: the report of all organizations in a lake.
 * @param lake its database has the views that the queries name
 * @returns its data, and the names of the files below `out`
 * @throws TidemarkError DATA if a query fails, or the lake has no published night
 */
export async function renderFleetReport({ database, files }: OpenWarehouse, out: string, generatedAt: Date) {
  const report = loadFleetReport(files);
  const [summary] = await queryDataset(database, report.summary);
  if (typeof summary?.night !== 'string') {
    throw new TidemarkError('DATA', 'the lake has no night', { hint: 'publish a run with `tidemark lake publish`' });
  }
  refuseUnknownNames(report, summary, files);
  const datasets = new Map<string, readonly Row[]>();
  for (const dataset of report.datasets) datasets.set(dataset.name, await queryDataset(database, dataset));
  const head = {
    report: report.name,
    as_of: `${summary.night.slice(0, 10)}T00:00:00Z`,
    generated_at: formatTimestamp(generatedAt),
    sources: [],
    state: assessFleet(summary),
    summary: { ...summary, headline: describeFleet(summary) },
  };
  const begin = () => ({
    head: Promise.resolve(head),
    read: async ({ name }: Dataset, take: TakeRows) => take(datasets.get(name) ?? []),
  });
  const page = { params: {}, unlinked: new Set<string>(), stalenessAt: generatedAt };
  const written = await writeReport(out, report, begin, page, createRenderer(files.roots));
  const data: Readonly<Record<string, unknown>> = { ...head, ...Object.fromEntries(datasets) };
  return { files: written.files, data };
}

/** What is stale or not assessed is not clean; a number is null where no target has it. */
function assessFleet(summary: Row): ReportState {
  const isAbove = (...columns: readonly string[]) => columns.some((column) => Number(summary[column]) > 0);
  if (isAbove('critical')) return 'critical';
  if (isAbove('warning')) return 'warning';
  const isKnown = summary.critical !== null && summary.drifted !== null;
  const hasGaps = isAbove('stale_targets', 'incomplete_targets', 'not_assessed', 'rules_not_assessed');
  return isKnown && !hasGaps ? 'ok' : 'unknown';
}

function describeFleet(summary: Row): string {
  const count = (column: string) => Number(summary[column]);
  const stale = count('stale_targets');
  const services = count('services');
  return [
    `${plural(count('organizations'), 'organization')}${services > 0 ? ` and ${plural(services, 'other service')}` : ''}`,
    summary.critical === null ? 'findings are not known' : plural(count('critical'), 'critical finding'),
    summary.drifted === null
      ? 'drift is not known'
      : `drift in ${formatNumber(count('drifted'))} of ${plural(count('workspaces'), 'workspace')}`,
    ...(stale > 0 ? [`${plural(stale, 'target')} stale`] : []),
  ].join(', ');
}
