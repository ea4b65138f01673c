import Handlebars, { type HelperOptions } from 'handlebars';
import type { Plain, Row } from '../warehouse/values.ts';
import { type ChartSpec, type DrawChart, type Series, seriesOf } from './charts.ts';
import { headingOf } from './definitions.ts';
import { formatNumber, formatTime, formatValue, type Kind, NONE, shortened } from './format.ts';
import type { TemplateFormat } from './templates.ts';
import { oneLine, textTable } from './text-table.ts';
import type { TableView } from './view.ts';

type Engine = typeof Handlebars;

/** Rows of a table in a text report; NAME.json holds them all. */
const TEXT_ROWS = 20;

/** What every template may call. A name that the context does not know is an error in each of them, never an empty place. */
export function registerHelpers(handlebars: Engine, format: TemplateFormat, drawChart: DrawChart): void {
  const partial = (name: string, model: object, options: HelperOptions) =>
    new Handlebars.SafeString(partialOf(handlebars, name)(model, { data: options.data }).trimEnd());
  const section = (name: string, model: object, options: HelperOptions) =>
    format === 'html' ? partial(name, model, options) : `${String(partial(name, model, options))}\n`;
  const helper = (name: string, work: Handlebars.HelperDelegate) =>
    handlebars.registerHelper(name, function (this: unknown, ...args: unknown[]) {
      refuseUnknown(name, args);
      return work.apply(this, args as Parameters<Handlebars.HelperDelegate>);
    });
  for (const name of ['if', 'unless', 'each', 'with']) {
    const original = handlebars.helpers[name];
    if (original) helper(name, original);
  }

  helper('number', (value: Plain) => formatValue(value, 'number'));
  helper('time', (value: Plain) => formatValue(value, 'time'));
  helper('bytes', (value: Plain) => formatValue(value, 'bytes'));
  helper('line', (value: Plain) => oneLine(formatValue(value, 'text')));
  helper('eq', (one: Plain, other: Plain) => one === other);
  helper('gt', (one: number, other: number) => one > other);
  helper('plural', (count: number, one: string, many: string) => `${formatNumber(count)} ${count === 1 ? one : many}`);
  helper('underline', (text: string, mark: string) => `${text}\n${mark.repeat(text.length)}`);
  helper('heading', (title: string, total: number) => {
    const heading = `${title} (${formatNumber(total)})`;
    return `${heading}\n${'-'.repeat(heading.length)}`;
  });
  helper('columns_of', ({ columns, rows }: TableView) => textTable({ columns, rows }, TEXT_ROWS));
  helper('query', (table: TableView, options: HelperOptions) => partial('sql', table, options));
  helper('table', (table: TableView, options: HelperOptions) =>
    section('table', { ...table, inText: Math.min(TEXT_ROWS, table.total), page: options.data.root.page }, options),
  );
  helper('figure', (value: Plain, label: string, options: HelperOptions) =>
    partial('figure', figureModel(value, label, options), options),
  );
  helper('chart', (table: TableView, options: HelperOptions) =>
    section('chart', chartModel(table, options, format, drawChart), options),
  );
}

function refuseUnknown(name: string, args: readonly unknown[]): void {
  const hash = (args.at(-1) as HelperOptions).hash as Record<string, unknown>;
  const missing = args.slice(0, -1).indexOf(undefined);
  const missingKey = Object.keys(hash ?? {}).find((key) => hash[key] === undefined);
  if (missing >= 0) throw new Error(`{{${name}}}: argument ${missing + 1} is nothing that the context knows`);
  if (missingKey !== undefined) throw new Error(`{{${name}}}: ${missingKey}= is nothing that the context knows`);
}

function partialOf(handlebars: Engine, name: string): Handlebars.TemplateDelegate {
  const partial: unknown = handlebars.partials[name];
  if (typeof partial !== 'function') throw new Error(`there is no partial ${name}`);
  return partial as Handlebars.TemplateDelegate;
}

interface RootContext {
  readonly tables: Readonly<Record<string, TableView>>;
  readonly page: {
    readonly staleSources: boolean;
    readonly stale: readonly { readonly source: string }[];
    readonly absent: ReadonlySet<string>;
  };
  readonly [dataset: string]: unknown;
}

/**
 * A number, what it counts, the dataset with its rows (`rows=`), and its change: `new=` and `resolved=` where both are known,
 * else `before=`, the same number at the previous complete pull, null where there was none. It rests on the sources of its rows;
 * without any, on those of `sources=`, or of the whole page.
 */
function figureModel(value: Plain, label: string, { hash, data }: HelperOptions): object {
  const root = data.root as RootContext;
  const rows = typeof hash.rows === 'string' ? root.tables[hash.rows] : undefined;
  if (hash.rows && !rows) throw new Error(`{{figure}}: there is no dataset ${String(hash.rows)}`);
  return {
    value: formatValue(value, hash.kind ?? 'number'),
    label,
    href: hrefOf(root.page, hash.href) ?? (rows ? `#${rows.id}` : null),
    changes: changesOf(value, hash),
    stale: rows ? rows.stale : restsOnStale(root.page, hash.sources),
    good: hash.good === true,
  };
}

/** Null for the page of a report that is not written. */
function hrefOf({ absent }: RootContext['page'], href: unknown): unknown {
  const report = typeof href === 'string' ? href.replace(/\.html$/u, '') : '';
  return absent.has(report) ? null : href;
}

function restsOnStale(page: RootContext['page'], sources: unknown): boolean {
  if (typeof sources !== 'string') return page.staleSources;
  const names = sources.split(',').map((name) => name.trim());
  return page.stale.some(({ source }) => names.includes(source));
}

function changesOf(value: Plain, hash: Readonly<Record<string, unknown>>): readonly string[] {
  if (hash.baseline === true) return ['first night: nothing to compare with'];
  if (hash.new !== undefined) {
    const gone = hash.resolved === undefined ? [] : [`−${formatNumber(Number(hash.resolved))} resolved`];
    return [`+${formatNumber(Number(hash.new))} new`, ...gone];
  }
  if (hash.before === undefined || hash.before === null || value === null) return [];
  const change = Number(value) - Number(hash.before);
  if (change === 0) return ['unchanged'];
  return [`${change > 0 ? '+' : ''}${formatValue(change, (hash.kind ?? 'number') as Kind)} since the night before`];
}

/** `{{chart tables.nights x="night" y="drifted,unknown" title="…" kind="area" by="version"}}` */
function chartModel(table: TableView, { hash, data }: HelperOptions, format: TemplateFormat, draw: DrawChart): object {
  const rows = (data.root as RootContext)[table.id] as readonly Row[];
  const x = String(hash.x ?? 'night');
  const columns = String(hash.y).split(',');
  const series = seriesOf(rows, x, columns, hash.by).map((one) => ({
    ...one,
    name: hash.by ? shortened(one.name) : headingOf(one.name),
  }));
  const spec: ChartSpec = { title: String(hash.title ?? table.title), series, kind: hash.kind ?? 'line' };
  const nights = [...new Set(rows.map((row) => String(row[x])))].sort();
  return {
    ...table,
    title: spec.title,
    svg: format === 'html' && nights.length > 1 ? new Handlebars.SafeString(draw(spec)) : null,
    legend:
      nights.length > 0 ? series.map((one, index) => ({ ...legendEntry(one, index), mark: spec.kind ?? 'line' })) : [],
    from: formatTime(nights[0] ?? '').slice(0, 10),
  };
}

function legendEntry({ name, points }: Series, index: number): object {
  const values = points.map(({ value }) => value);
  return {
    name,
    place: index + 1,
    last: values.length > 0 ? formatNumber(values.at(-1) ?? 0) : NONE,
    lowest: formatNumber(Math.min(...values)),
    highest: formatNumber(Math.max(...values)),
  };
}
