import { TidemarkError } from '../../core/errors.ts';
import { discoverFiles, findFile } from '../../core/paths.ts';
import { parseHeader, readNumber, type SqlFiles, splitList } from '../../warehouse/sql-files.ts';
import { toHeading } from './format.ts';

/** The lines that a header may have. */
export const DATASET_LINES =
  'title about sources empty counted labels hidden links subjects pages details strips legend limit rules unknown order'.split(
    ' ',
  );

/** One SQL file of a report, which is one variable of its templates. */
export type Dataset = Readonly<ReturnType<typeof loadDataset>>;

export type Report = Readonly<ReturnType<typeof loadReport>>;

const DEFAULT_LIMIT = 5000;
const LAST = 1000;

/** Names in the context of templates and in `NAME.json` that a dataset may not have. */
const RESERVED_NAME = /^(?:report|title|about|as_of|generated_at|sources|tables|page|state|lead)$/u;

/**
 * The reports, by name and in order. A report is a template `reports/NAME.hbs` with a query `queries/reports/NAME/summary.sql`,
 * beside the configuration or in the package.
 */
export function loadReports(files: SqlFiles): ReadonlyMap<string, Report> {
  const reports = listReportNames(files.roots).map((name) => loadReport(name, files));
  const ordered = reports.sort((a, b) => a.summary.order - b.summary.order); // the sort is stable: by name where the order is the same
  return new Map(ordered.map((report) => [report.name, report]));
}

/** Names of the reports, without loading them. */
export function listReportNames(roots: readonly string[]): readonly string[] {
  return [...discoverFiles(roots, 'reports', '.hbs').keys()].filter(
    (name) => !name.includes('.') && findFile(roots, `queries/reports/${name}/summary.sql`) !== undefined,
  );
}

/** The report of a fleet. Its queries, `queries/fleet/`, run on the views of a lake. */
export function loadFleetReport(files: SqlFiles): Report {
  return loadReport('fleet', files, 'fleet');
}

function loadReport(name: string, files: SqlFiles, folder = `reports/${name}`) {
  const summary = loadDataset('summary', `${folder}/summary`, files);
  const header = parseHeader(summary.sql);
  // Every report with rules has the datasets about findings.
  const folders = header.rules === undefined ? [folder] : [folder, 'reports/lead'];
  const datasets = folders.flatMap((place) => loadDatasets(place, files));
  const others = [...new Map(datasets.map((dataset) => [dataset.name, dataset])).values()];
  return {
    name,
    title: summary.title,
    about: summary.about,
    /** Rules whose findings lead the report, where `all` means every rule; null without a lead. */
    rules: header.rules === undefined ? null : splitList(header.rules),
    /** Columns of the summary that count what could not be assessed. Where one is above 0, the report is not `ok`. */
    unknown: splitList(header.unknown),
    /** Those whose data the report uses. */
    sources: [...new Set([summary, ...others].flatMap(({ sources }) => sources))].sort(),
    summary,
    datasets: others.map((dataset) =>
      dataset.sources.length > 0 ? dataset : { ...dataset, sources: summary.sources },
    ),
  };
}

/** The queries of a folder but for the summary. */
export function loadDatasets(folder: string, files: SqlFiles): readonly Dataset[] {
  const found = [...discoverFiles(files.roots, `queries/${folder}`, '.sql').keys()];
  const names = found.filter((name) => name !== 'summary');
  return names.map((name) => loadDataset(name, `${folder}/${name}`, files));
}

function loadDataset(name: string, file: string, files: SqlFiles) {
  if (RESERVED_NAME.test(name)) throw new TidemarkError('DATA', `queries/${file}.sql: \`${name}\` is a reserved name`);
  const sql = files.read(file);
  const header = parseHeader(sql);
  return {
    name,
    /** Path below `queries/`, without `.sql`. */
    file,
    sql: sql.trimEnd(),
    title: header.title ?? toHeading(name),
    /** Position among the reports, of a summary, or among the tables of a run. Those without one come last. */
    order: readNumber(header.order, LAST),
    about: header.about ?? '',
    /** Shown instead of the table when there are no rows. */
    empty: header.empty ?? 'None.',
    /** The column of the summary that counts its rows, or those that they are some of: where it is null, nothing is known of them. */
    counted: header.counted ?? name,
    /** Whether it has no text for having no rows. */
    isQuiet: header.empty === undefined,
    sources: splitList(header.sources),
    /** Column → heading, where it differs from the column's name. */
    labels: splitPairs(header.labels),
    /** Column → dataset with the rows behind its numbers. */
    links: splitPairs(header.links),
    /** Column → column with the name of the report that its text links to. */
    pages: splitPairs(header.pages),
    /** Column → the subject that its text names: its type, or `$COLUMN` with the type, and after a colon the column with its ID. */
    subjects: splitPairs(header.subjects),
    /** Columns of the data that the page leaves out. */
    hidden: splitList(header.hidden),
    /** Column → column with the list that its cell shows when it is opened. */
    details: splitPairs(header.details),
    /** Column with `{kind, value, text}` parts → how its cells draw them: as `squares`, or else as a `bar`. */
    strips: splitPairs(header.strips),
    /** Kind of a part → what its color means. */
    legend: splitPairs(header.legend),
    /** Most rows that the page contains; a CSV file has all of them. */
    limit: Math.max(0, readNumber(header.limit, DEFAULT_LIMIT)),
  };
}

/** `a=One; b=Two` */
function splitPairs(text: string | undefined): Readonly<Record<string, string>> {
  const pairs = text?.split(/\s*;\s*/u).filter(Boolean) ?? [];
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
}
