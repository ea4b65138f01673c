import { readFile } from 'node:fs/promises';
import { TidemarkError } from '../core/errors.ts';
import { discover, findFile } from '../core/paths.ts';
import { headerOf, type SqlFiles } from '../warehouse/sql-files.ts';
import { RESERVED_NAMES } from './data.ts';

/** One SQL file of a report, which is one variable of its templates. */
export interface Dataset {
  readonly name: string;
  /** Path below `queries/`, without `.sql`. */
  readonly file: string;
  readonly sql: string;
  readonly title: string;
  readonly about: string;
  /** What stands where the table would, when there are no rows. */
  readonly empty: string;
  readonly sources: readonly string[];
  /** Column → heading, where the column's own name does not do. */
  readonly labels: Readonly<Record<string, string>>;
  /** Column → dataset that holds the rows behind its numbers. */
  readonly links: Readonly<Record<string, string>>;
  /** Column → column that names the report which its text links to. */
  readonly pages: Readonly<Record<string, string>>;
  /** Columns for the data alone, not for the page. */
  readonly hidden: readonly string[];
  /** Rows shown on the page; the whole stands beside it as CSV. */
  readonly limit: number;
}

export interface Report {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** Place among the reports, `-- order:` of the summary; those without one come last. */
  readonly order: number;
  /** Sources that the report rests on. */
  readonly sources: readonly string[];
  readonly summary: Dataset;
  readonly datasets: readonly Dataset[];
  readonly template: string;
  /** Its own, or the general one, `plain.txt.hbs`. */
  readonly textTemplate: string;
}

const DEFAULT_LIMIT = 200;
const LAST = 1000;

/** Every report there is: a template `reports/NAME.hbs` with `queries/reports/NAME/summary.sql`, beside the configuration or in the package. */
export async function loadReports(files: SqlFiles): Promise<ReadonlyMap<string, Report>> {
  const templates = await discover(files.roots, 'reports', '.hbs');
  const names = withSummary(files.roots, templates.keys());
  const reports = await Promise.all(names.map((name) => loadReport(name, files, templates)));
  const ordered = reports.sort((a, b) => a.order - b.order); // a stable sort: by name where nothing is said
  return new Map(ordered.map((report) => [report.name, report]));
}

/** Their names, without reading them. */
export async function reportNames(roots: readonly string[]): Promise<readonly string[]> {
  return withSummary(roots, (await discover(roots, 'reports', '.hbs')).keys());
}

function withSummary(roots: readonly string[], templates: Iterable<string>): readonly string[] {
  return [...templates].filter(
    (name) => !name.includes('.') && findFile(roots, `queries/reports/${name}/summary.sql`) !== undefined,
  );
}

async function loadReport(name: string, files: SqlFiles, templates: ReadonlyMap<string, string>): Promise<Report> {
  const found = await discover(files.roots, `queries/reports/${name}`, '.sql');
  const read = (dataset: string) => loadDataset(name, dataset, files);
  const summary = await read('summary');
  const others = await Promise.all([...found.keys()].filter((dataset) => dataset !== 'summary').map(read));
  return {
    name,
    title: summary.title,
    about: summary.about,
    order: Number(headerOf(summary.sql).order ?? LAST),
    sources: [...new Set([summary, ...others].flatMap(({ sources }) => sources))].sort(),
    summary,
    datasets: others.map((dataset) =>
      dataset.sources.length > 0 ? dataset : { ...dataset, sources: summary.sources },
    ),
    template: await readFile(templates.get(name) ?? '', 'utf8'),
    textTemplate: await readFile(templates.get(`${name}.txt`) ?? templates.get('plain.txt') ?? '', 'utf8'),
  };
}

async function loadDataset(report: string, name: string, files: SqlFiles): Promise<Dataset> {
  const file = `reports/${report}/${name}`;
  if (RESERVED_NAMES.has(name))
    throw new TidemarkError('DATA', `queries/${file}.sql: every report has a \`${name}\` already`);
  const sql = await files.text(file);
  const header = headerOf(sql);
  return {
    name,
    file,
    sql: sql.trimEnd(),
    title: header.title ?? headingOf(name),
    about: header.about ?? '',
    empty: header.empty ?? 'None.',
    sources: listOf(header.sources),
    labels: pairsOf(header.labels),
    links: pairsOf(header.links),
    pages: pairsOf(header.pages),
    hidden: listOf(header.hidden),
    limit: Number(header.limit ?? DEFAULT_LIMIT),
  };
}

function listOf(text: string | undefined): readonly string[] {
  return text?.split(/\s*,\s*/u).filter(Boolean) ?? [];
}

/** `a=One; b=Two` */
function pairsOf(text: string | undefined): Readonly<Record<string, string>> {
  const pairs = text?.split(/\s*;\s*/u).filter(Boolean) ?? [];
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
}

/** `newly_failing` → `Newly failing` */
export function headingOf(name: string): string {
  const words = name.replaceAll(/[_-]+/gu, ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
