import { createHash } from 'node:crypto';
import { formatTimestamp } from '../../core/clock.ts';
import { groupBy } from '../../core/group-by.ts';
import { findFile } from '../../core/paths.ts';
import { isAbsent, type LeftOut } from '../../extract/sources/index.ts';
import type { SqlParams } from '../../warehouse/database.ts';
import type { Row } from '../../warehouse/values.ts';
import { type ReportHead, reportParams, type SourceState } from './data.ts';
import type { Report } from './definitions.ts';
import { cleanTexts, EMPTY_CELL, formatAge, formatTime, toCalendarLines, truncate } from './format.ts';
import { buildLead } from './lead.ts';
import type { SubjectLinks } from './subjects.ts';
import { type HeldDataset, holdRows, type TableView, toTableView } from './table-view.ts';
import { createTemplateEngine, readTemplate } from './templates.ts';

/** Renders the templates of `reports/`, with the assets of pages, which are loaded once. */
export type Renderer = ReturnType<typeof createRenderer>;

type LinkedReports = readonly Pick<Report, 'name' | 'title'>[];

/**
 * @param reports those that the pages link to
 * @param currentUntil until when the pages are current, if no later run replaces them; without, they do not say
 */
export function createRenderer(roots: readonly string[], reports: LinkedReports = [], currentUntil?: Date) {
  const [html, text] = [createTemplateEngine(roots, 'html'), createTemplateEngine(roots, 'text')];
  const until = currentUntil ? formatTimestamp(currentUntil) : null;
  const assets = { ...loadAssets(roots), reports, current_until: until };
  /** Renders `reports/FILE`: `.txt.hbs` and `.ics.hbs` as text, others as HTML. @throws TidemarkError DATA naming it */
  const render = (file: string, context: object) => {
    const engine = /\.(?:txt|ics)\.hbs$/u.test(file) ? text : html;
    return engine.render(`reports/${file}`, readTemplate(roots, file), context);
  };
  return {
    assets,
    has: (file: string) => findFile(roots, `reports/${file}`) !== undefined,
    render,
    /** Renders `reports/FILE` of what is no report. @param current the entry of the navigation that it is */
    page: (file: string, current: string, context: object) =>
      render(file, { ...context, page: { ...assets, current, run: null } }),
  };
}

export interface PageOptions extends SubjectLinks {
  readonly params: SqlParams;
  /** Names of reports whose pages must not be linked, because they are not rendered. */
  readonly unlinked: ReadonlySet<string>;
  /** Time at which the age of sources is evaluated. */
  readonly stalenessAt: Date;
  readonly leftOut?: LeftOut | undefined;
  readonly run?: { readonly id: string; readonly path: string } | undefined;
}

/** A report whose datasets are read. */
type HeldReport = Omit<Report, 'datasets'> & { readonly head: ReportHead; readonly datasets: readonly HeldDataset[] };

/** @returns the pages of a report and its tables; without them, the datasets that a template reads by name although some rows are not held */
export function renderReport(report: HeldReport, options: PageOptions, renderer: Renderer) {
  const { name } = report;
  const unread = new Set<HeldDataset>();
  const rows = report.datasets.map((one) => [one.name, watchRows(one, () => unread.add(one))]);
  const context = buildContext(report, Object.fromEntries(rows), options, renderer.assets);
  const pages = new Map<string, string>();
  try {
    const text = renderer.render(renderer.has(`${name}.txt.hbs`) ? `${name}.txt.hbs` : 'plain.txt.hbs', context);
    pages.set(`${name}.html`, renderer.render(`${name}.hbs`, context));
    pages.set(`${name}.txt`, `${text.trim()}\n`);
    if (renderer.has(`${name}.ics.hbs`)) {
      pages.set(`${name}.ics`, toCalendarLines(renderer.render(`${name}.ics.hbs`, context)));
    }
  } catch (error) {
    if (unread.size === 0) throw error; // a row that is not held fails a template
  }
  return { pages, tables: context.tables, unread };
}

/** The rows that are held. Whoever asks for more than how many there are is noticed: a template may need the others. */
function watchRows({ rows, total }: HeldDataset, onRead: () => void): readonly Row[] {
  if (rows.length === total) return rows;
  const get = (target: readonly Row[], key: string | symbol): unknown => {
    if (key === 'length') return total;
    onRead();
    return Reflect.get(target, key);
  };
  return new Proxy(rows, { get });
}

function buildContext(
  report: HeldReport,
  rows: Readonly<Record<string, readonly Row[]>>,
  { params, unlinked, stalenessAt, leftOut, linkSubject, linkProduct, run }: PageOptions,
  assets: Renderer['assets'],
) {
  const { head } = report;
  const freshness = summarizeFreshness(head.sources, stalenessAt);
  const targets = new Set(head.sources.map(({ target }) => target).filter(Boolean));
  const options = {
    report: report.name,
    params: reportParams(report, params),
    unlinked,
    linkSubject,
    staleSources: new Set(freshness.stale.map(({ source }) => source)),
    // The report of a lake names no sources: what it shows is of any number of targets.
    hasSeveralTargets: head.sources.length === 0 || targets.size > 1,
  };
  const summary = { ...toTableView(holdRows(report.summary, [head.summary]), options), absent: false };
  const tables: Record<string, TableView> = { summary };
  for (const dataset of report.datasets) {
    const isUnknown = head.summary[dataset.counted] === null;
    const isNeverPulled = dataset.sources.some((source) => freshness.neverPulled.has(source));
    tables[dataset.name] = {
      ...toTableView(dataset, options),
      ...(isUnknown && { empty: `${dataset.title}: not known.` }),
      ...(isNeverPulled && { empty: `${dataset.title}: not known, never pulled.` }),
      absent: isAbsent(dataset.sources, leftOut),
    };
  }
  return {
    ...head,
    ...rows,
    summary: cleanTexts(head.summary),
    title: report.title,
    about: report.about,
    lead: buildLead(head, rows, { linkSubject, linkProduct }),
    tables,
    page: {
      ...assets,
      ...freshness,
      current: report.name,
      run: run ?? null,
      empty: listEmpty(Object.values(tables)),
      unlinked,
      leftOut,
      reads: report.sources,
    },
  };
}

/** What was looked for and not found. */
function listEmpty(tables: readonly TableView[]) {
  return tables
    .filter(({ total, absent, isQuiet }) => total === 0 && !absent && !isQuiet)
    .map(({ id, empty, stale }) => ({ id, text: empty, stale }));
}

/** The stylesheet and the script of every page, and the content security policy that allows only these two. */
function loadAssets(roots: readonly string[]) {
  const style = readTemplate(roots, 'style.css');
  const scripts = ['tables.js', 'search.js', 'age.js'].map((name) => readTemplate(roots, name));
  const script = scripts.join('');
  const policy = [
    "default-src 'none'",
    `style-src '${toCspHash(style)}'`,
    `script-src '${toCspHash(script)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return { style, script, policy };
}

/** A text as a content security policy allows it. */
function toCspHash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

/** What a page shows of its sources: all of them, the stale ones, and those that were never pulled from any target. */
function summarizeFreshness(states: readonly SourceState[], stalenessAt: Date) {
  const sources = states.map(({ target, source, status, as_of, error, stale }) => ({
    target: target ?? EMPTY_CELL,
    source,
    status,
    as_of: as_of === null ? EMPTY_CELL : formatTime(as_of),
    age: as_of === null ? EMPTY_CELL : formatAge(stalenessAt.getTime() - Date.parse(as_of)),
    error: truncate(error ?? ''),
    stale,
    complete: as_of !== null,
  }));
  const stale = sources.filter((source) => source.stale);
  const never = states.filter(({ status }) => status === 'never').map(({ source }) => source);
  const pulled = new Set(sources.flatMap(({ source, complete }) => (complete ? [source] : [])));
  // A table of such a source is not known to be empty.
  const neverPulled = new Set(sources.flatMap(({ source }) => (pulled.has(source) ? [] : [source])));
  return { sources, stale, never, neverPulled, staleSources: stale.length > 0, ...groupOutages(stale) };
}

/** More lines would push the first finding off the screen. */
export const MAX_OUTAGES = 10;

/** The stale sources, those of a target with the same state together: one service that is down is one line, with the first reason. */
export function groupOutages<T extends Readonly<Record<string, unknown>>>(stale: readonly T[]) {
  const groups = groupBy(stale, ({ target, status, as_of }) => JSON.stringify([target, status, as_of]));
  const outages = [...groups.values()].map((states) => ({
    ...(states.find(({ error }) => error) ?? states[0]),
    sources: states.map(({ source }) => source),
    hasMore: states.filter(({ error }) => error).length > 1,
    isLifecycle: states.some(({ source }) => source === 'lifecycle'),
  }));
  return { outages: outages.slice(0, MAX_OUTAGES), moreOutages: Math.max(0, outages.length - MAX_OUTAGES) };
}
