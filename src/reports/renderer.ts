import { stripControls } from '../core/log.ts';
import { isAbsent, type LeftOut } from '../sources/left-out.ts';
import type { SqlParams } from '../warehouse/database.ts';
import type { Row, Value } from '../warehouse/values.ts';
import { toSpreadsheetCsv } from './csv.ts';
import { type ReportData, toJsonText } from './data.ts';
import type { Report } from './definitions.ts';
import { loadAssets, type PageAssets, summarizeFreshness } from './page.ts';
import { csvName, type TableView, toTableView } from './table-view.ts';
import { createTemplateEngine, type TemplateEngine } from './templates.ts';

/** The templates and assets of pages, loaded once. */
export interface Renderer {
  readonly html: TemplateEngine;
  readonly text: TemplateEngine;
  readonly assets: PageAssets;
}

export async function createRenderer(roots: readonly string[]): Promise<Renderer> {
  const [html, text, assets] = await Promise.all([
    createTemplateEngine(roots, 'html'),
    createTemplateEngine(roots, 'text'),
    loadAssets(roots),
  ]);
  return { html, text, assets };
}

/** The files of a report: name → content. */
export type ReportFiles = ReadonlyMap<string, string>;

export interface PageOptions {
  readonly params: SqlParams;
  /** Names of reports whose pages must not be linked, because they are not rendered. */
  readonly unlinked: ReadonlySet<string>;
  /** Time at which the age of sources is evaluated. */
  readonly stalenessAt: Date;
  readonly leftOut?: LeftOut | undefined;
}

export function renderReport(report: Report, data: ReportData, options: PageOptions, renderer: Renderer): ReportFiles {
  const { name, template, textTemplate } = report;
  const context = buildContext(report, data, options, renderer.assets);
  const text = renderer.text.render(`reports/${name}.txt.hbs`, textTemplate, context);
  const files = new Map([
    [`${name}.html`, renderer.html.render(`reports/${name}.hbs`, template, context)],
    [`${name}.txt`, `${text.trim()}\n`],
    [`${name}.json`, toJsonText(data)],
  ]);
  for (const dataset of report.datasets) {
    const isCut = context.tables[dataset.name]?.cut;
    if (isCut) files.set(csvName(name, dataset.name), toSpreadsheetCsv(data[dataset.name] as Row[]));
  }
  return files;
}

function buildContext(
  report: Report,
  data: ReportData,
  { params, unlinked, stalenessAt, leftOut }: PageOptions,
  assets: PageAssets,
) {
  const freshness = summarizeFreshness(data.sources, stalenessAt);
  const options = {
    report: report.name,
    params,
    unlinked,
    staleSources: new Set(freshness.stale.map(({ source }) => source)),
    hasSeveralTargets: new Set(data.sources.map(({ target }) => target).filter(Boolean)).size > 1,
  };
  const tables: Record<string, TableView> = { summary: toTableView(report.summary, [data.summary], options) };
  for (const dataset of report.datasets)
    tables[dataset.name] = {
      ...toTableView(dataset, data[dataset.name] as Row[], options),
      absent: isAbsent(dataset.sources, leftOut),
    };
  return {
    ...data,
    summary: stripRowControls(data.summary),
    title: report.title,
    about: report.about,
    tables,
    page: { ...assets, ...freshness, unlinked, leftOut },
  };
}

/** Templates show the text of the summary unchanged, so it must not contain control characters. */
function stripRowControls(row: Row): Row {
  const strip = (value: Value): Value => (typeof value === 'string' ? stripControls(value) : value);
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, strip(value)]));
}
