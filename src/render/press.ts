import { printable } from '../core/log.ts';
import type { Params } from '../warehouse/database.ts';
import type { Plain, Row } from '../warehouse/values.ts';
import { type DrawChart, loadCharts } from './charts.ts';
import { safeCsv } from './csv.ts';
import type { ReportData } from './data.ts';
import type { Report } from './definitions.ts';
import { freshnessOf, loadAssets, type PageAssets } from './page.ts';
import { type TemplateEngine, templateEngine } from './templates.ts';
import { csvName, type TableView, tableView } from './view.ts';
import { jsonText } from './write.ts';

/** Everything that pages are made with, loaded once. */
export interface Press {
  readonly html: TemplateEngine;
  readonly text: TemplateEngine;
  readonly assets: PageAssets;
  readonly drawChart: DrawChart;
}

export async function openPress(roots: readonly string[]): Promise<Press> {
  const [drawChart, assets] = await Promise.all([loadCharts(), loadAssets(roots)]);
  const [html, text] = await Promise.all([
    templateEngine(roots, 'html', drawChart),
    templateEngine(roots, 'text', drawChart),
  ]);
  return { html, text, assets, drawChart };
}

/** File name → content of all that a report consists of. */
export type Contents = ReadonlyMap<string, string>;

export interface PrintOptions {
  readonly params: Params;
  /** Names of reports whose pages are not there to be linked to. */
  readonly absent: ReadonlySet<string>;
  /** The moment that the age of sources is told at. */
  readonly freshAt: Date;
}

export function printReport(report: Report, data: ReportData, options: PrintOptions, press: Press): Contents {
  const context = contextOf(report, data, options, press.assets);
  const files = new Map([
    [`${report.name}.html`, press.html.render(`reports/${report.name}.hbs`, report.template, context)],
    [
      `${report.name}.txt`,
      `${press.text.render(`reports/${report.name}.txt.hbs`, report.textTemplate, context).trim()}\n`,
    ],
    [`${report.name}.json`, jsonText(data)],
  ]);
  for (const { name } of report.datasets) {
    const cut = context.tables[name]?.cut;
    if (cut) files.set(csvName(report.name, name), safeCsv(data[name] as Row[]));
  }
  return files;
}

function contextOf(report: Report, data: ReportData, { params, absent, freshAt }: PrintOptions, assets: PageAssets) {
  const freshness = freshnessOf(data.sources, freshAt);
  const options = {
    report: report.name,
    params,
    absent,
    staleSources: new Set(freshness.stale.map(({ source }) => source)),
    severalTargets: new Set(data.sources.map(({ target }) => target).filter(Boolean)).size > 1,
  };
  const tables: Record<string, TableView> = { summary: tableView(report.summary, [data.summary], options) };
  for (const dataset of report.datasets)
    tables[dataset.name] = tableView(dataset, data[dataset.name] as Row[], options);
  return {
    ...data,
    summary: withoutControls(data.summary),
    title: report.title,
    about: report.about,
    tables,
    page: { ...assets, ...freshness, absent },
  };
}

/** Text of the summary is shown as it is: control characters must not reach a terminal or a page. */
function withoutControls(row: Row): Row {
  const clean = (value: Plain): Plain => (typeof value === 'string' ? printable(value) : value);
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, clean(value)]));
}
