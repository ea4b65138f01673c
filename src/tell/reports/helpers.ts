import { utcDay } from 'd3-time';
import Handlebars, { type HelperOptions } from 'handlebars';
import { formatCompact } from '../../core/clock.ts';
import { tableLines } from '../../core/text-table.ts';
import { isAbsent, type LeftOut } from '../../extract/sources/index.ts';
import { splitList } from '../../warehouse/sql-files.ts';
import type { Row, Value } from '../../warehouse/values.ts';
import { drawChart, MAX_NARROW_TIMES, seriesClass } from './charts.ts';
import type { ValueKind } from './format.ts';
import { escapeCalendarText, formatAge, formatNumber, formatTime, formatValue, toHeading, truncate } from './format.ts';
import { buildSeries, findExtent, type Series, splitAtGaps } from './series.ts';
import type { CellView, TableView } from './table-view.ts';

export type TemplateFormat = 'html' | 'text';

/** Rows of a table in a text report; `NAME.json` has all of them. */
const MAX_TEXT_ROWS = 20;
const MAX_TEXT_CELL_LENGTH = 60;

/** Registers the helpers of all templates. An argument that the context does not define is an error. */
export function registerHelpers(handlebars: typeof Handlebars, format: TemplateFormat): void {
  const partial = (name: string, model: object, options: HelperOptions) => {
    const render = handlebars.partials[name] as Handlebars.TemplateDelegate;
    return new Handlebars.SafeString(render(model, { data: options.data }).trimEnd());
  };
  const section = (name: string, model: object, options: HelperOptions) =>
    format === 'html' ? partial(name, model, options) : `${String(partial(name, model, options))}\n`;
  const helper: RegisterHelper = (name, work) =>
    handlebars.registerHelper(name, function (this: unknown, ...args: unknown[]) {
      assertDefined(name, args);
      return work.apply(this, args as Parameters<Handlebars.HelperDelegate>);
    });
  for (const name of ['if', 'unless', 'each', 'with']) {
    const original = handlebars.helpers[name];
    if (original) helper(name, original);
  }

  registerFormatHelpers(helper);
  helper('trusted', (value: Value) => value); // what `{{{trusted …}}}` says is checked in templates.ts
  helper('text_table', formatTextTable);
  helper('grid_rows', ({ rows }: TableView) => new Handlebars.SafeString(rows.map(drawRow).join('\n')));
  helper('figure', (value: Value, label: string, options: HelperOptions) =>
    isAbsentFigure(options) ? '' : partial('figure', buildFigure(value, label, options), options),
  );
  for (const [name, build] of Object.entries({ table: buildTable, nights: buildNights, chart: buildChart })) {
    helper(name, (table: TableView, options: HelperOptions) =>
      table.absent ? '' : section(name, build(table, options, format), options),
    );
  }
}

const drawRow = (cells: readonly CellView[]) => `<tr>${cells.map(({ html }) => html).join('')}</tr>`;

type RegisterHelper = (name: string, work: Handlebars.HelperDelegate) => void;

function registerFormatHelpers(helper: RegisterHelper): void {
  for (const kind of ['number', 'time', 'bytes'] as const) helper(kind, (value: Value) => formatValue(value, kind));
  helper('duration', (ms: number) => formatAge(Number(ms)));
  helper('line', (value: Value) => toLine(formatValue(value, 'text')));
  helper('prose', (text: string) => new Handlebars.SafeString(markCode(text)));
  helper('ics', (value: Value) => escapeCalendarText(String(value ?? '')));
  helper('ics_time', (time: string) => formatCompact(new Date(time)));
  helper('upper', (text: string) => text.toUpperCase());
  helper('eq', (a: Value, b: Value) => a === b);
  helper('gt', (a: number, b: number) => a > b);
  helper('plural', (count: number, one: string, many: string) => `${formatNumber(count)} ${count === 1 ? one : many}`);
  helper('counted', labelCount);
  helper('underline', (text: string, mark: string) => `${text}\n${mark.repeat(text.length)}`);
  helper('heading', (title: string, total: number) => {
    const heading = `${title} (${formatNumber(total)})`;
    return `${heading}\n${'-'.repeat(heading.length)}`;
  });
}

/** Text of ours, such as the meaning of a column, with its names between backticks as code. */
function markCode(text: string): string {
  return Handlebars.escapeExpression(text).replaceAll(/&#x60;(.*?)&#x60;/gu, '<code>$1</code>');
}

function assertDefined(name: string, args: readonly unknown[]): void {
  const hash = (args.at(-1) as HelperOptions).hash as Record<string, unknown>;
  const missing = args.slice(0, -1).indexOf(undefined);
  const missingKey = Object.keys(hash ?? {}).find((key) => hash[key] === undefined);
  if (missing >= 0) throw new Error(`{{${name}}}: argument ${missing + 1} is not defined`);
  if (missingKey !== undefined) throw new Error(`{{${name}}}: ${missingKey}= is not defined`);
}

function formatTextTable({ columns, rows }: TableView): string {
  const header = columns.map(({ label, numeric }) => ({ label, align: numeric ? 'right' : 'left' }) as const);
  const lines = rows.slice(0, MAX_TEXT_ROWS).map((row) => row.map(({ text }) => toTextCell(text)));
  return tableLines(header, lines).join('\n');
}

function toLine(text: string): string {
  return text.replaceAll(/\s+/gu, ' ').trim();
}

function toTextCell(text: string): string {
  const line = toLine(text);
  return line.length > MAX_TEXT_CELL_LENGTH ? truncate(line, MAX_TEXT_CELL_LENGTH - 1) : line;
}

interface RootContext {
  readonly tables: Readonly<Record<string, TableView>>;
  readonly page: {
    readonly staleSources: boolean;
    readonly stale: readonly { readonly source: string }[];
    readonly unlinked: ReadonlySet<string>;
    readonly leftOut?: LeftOut;
    /** The sources of the report, of which alone it is known whether they are stale. */
    readonly reads: readonly string[];
  };
  readonly [dataset: string]: unknown;
}

/** Whether no target has the sources of a figure. */
function isAbsentFigure({ hash, data }: HelperOptions): boolean {
  const { tables, page } = data.root as RootContext;
  if (typeof hash.rows === 'string') return tables[hash.rows]?.absent === true;
  return typeof hash.sources === 'string' && isAbsent(splitList(hash.sources), page.leftOut);
}

/**
 * `{{figure VALUE "label" rows="dataset" new= resolved= before= href= sources= kind= state=}}`: a number, what it counts,
 * the dataset with its rows, and its change: `new=` and `resolved=` where both are known, otherwise `before=`, the number of the
 * previous complete pull, which is null where there was none. The figure is stale if a source of its rows is stale; without
 * `rows=`, if one of `sources=` is, or any source of the page.
 */
function buildFigure(value: Value, label: string, { hash, data }: HelperOptions): object {
  const root = data.root as RootContext;
  const rows = typeof hash.rows === 'string' ? root.tables[hash.rows] : undefined;
  const kind: ValueKind = hash.kind ?? 'number';
  if (hash.rows && !rows) throw new Error(`{{figure}}: unknown dataset ${String(hash.rows)}`);
  return {
    isFlat: value !== null && Number(value) === 0 && Number(hash.before ?? 0) === 0,
    value: formatValue(value, kind),
    label: kind === 'number' ? labelCount(value, label) : label,
    href: resolveHref(root.page, hash.href) ?? (isOnPage(rows) ? `#${rows.id}` : null),
    changes: formatFigureChanges(value, hash),
    stale: rows ? rows.stale : hasStaleSource(root.page, hash.sources),
    state: typeof hash.state === 'string' && Number(value) > 0 ? hash.state : null,
  };
}

/** A table without rows is a line of what was not found, unless it says nothing there. */
function isOnPage(table: TableView | undefined): table is TableView {
  return table !== undefined && (table.total > 0 || !table.isQuiet);
}

/** The plural with which a label begins, also after an adjective. A label that begins with a preposition counts something else. */
const PLURAL = /^(?!(?:by|in|of|per|with|within|without)\b)(\S+ )??(?!\S*(?:ies|ss|us)(?=\s|$))(\S+)s(?=\s|$)/u;

/** Of 1 a label begins with the singular. */
function labelCount(value: Value, label: string): string {
  return Number(value) === 1 ? label.replace(PLURAL, '$1$2') : label;
}

/** Null for the page of a report that is not rendered. */
function resolveHref({ unlinked }: RootContext['page'], href: unknown): unknown {
  const report = typeof href === 'string' ? href.replace(/\.html$/u, '') : '';
  return unlinked.has(report) ? null : href;
}

function hasStaleSource(page: RootContext['page'], sources: unknown): boolean {
  if (typeof sources !== 'string') return page.staleSources;
  const names = splitList(sources);
  const unknown = names.find((name) => !page.reads.includes(name));
  if (unknown !== undefined) throw new Error(`{{figure}}: the report has no source ${unknown}`);
  return page.stale.some(({ source }) => names.includes(source));
}

function formatFigureChanges(value: Value, hash: Readonly<Record<string, unknown>>): readonly string[] {
  if (hash.new !== undefined) {
    const resolved = hash.resolved === undefined ? [] : [`−${formatNumber(Number(hash.resolved))} resolved`];
    return [`+${formatNumber(Number(hash.new))} new`, ...resolved];
  }
  if (hash.before === undefined || hash.before === null || value === null) return [];
  const change = Number(value) - Number(hash.before);
  if (change === 0) return ['unchanged'];
  const formatted = formatValue(change, (hash.kind ?? 'number') as ValueKind);
  return [`${change > 0 ? '+' : ''}${formatted} since the previous run`];
}

function buildTable(table: TableView, { data }: HelperOptions): object {
  return { ...table, textRows: Math.min(MAX_TEXT_ROWS, table.total), page: data.root.page };
}

/** `{{nights tables.trend up="still,newly_drifted" down="resolved" title="…"}}`; nothing where no night has anything to show. */
function buildNights(table: TableView, { hash, data }: HelperOptions, format: TemplateFormat): object {
  const rows = (data.root as RootContext)[table.id] as readonly Row[];
  const [up, down] = [splitList(hash.up), splitList(hash.down)];
  const columns = [...up, ...down];
  const title = String(hash.title ?? table.title);
  const toDays = (some: readonly Row[]) => some.map((row) => utcDay.floor(new Date(String(row.as_of))).getTime());
  const known = rows.filter((row) => columns.some((column) => (row[column] ?? null) !== null));
  const series = buildSeries(known, 'as_of', columns).map(({ name, points }) => ({
    name: table.columns.find((column) => column.name === name)?.label ?? toHeading(name),
    points: points.map(({ at, value }) => ({ at: utcDay.floor(at), value })),
    // The last one upwards stands out, whatever is below it.
    color: up.includes(name) ? `up${3 - (up.length - 1 - up.indexOf(name))}` : `down${down.indexOf(name) + 1}`,
    isDown: down.includes(name),
  }));
  const first = known.length > 0 ? new Date(findExtent(toDays(rows))[0]) : undefined;
  const days = first ? utcDay.range(first, new Date(Date.parse(data.root.as_of) + 1)) : []; // a range has no end
  const knownDays = new Set(toDays(known));
  const isFlat = !series.some(({ points }) => points.some(({ value }) => value > 0));
  const isDrawn = format === 'html' && days.length > 1 && !isFlat;
  return {
    ...table,
    title,
    isFlat,
    svg: isDrawn ? new Handlebars.SafeString(drawChart({ title, series, days })) : null,
    gaps: days.filter((day) => !knownDays.has(day.getTime())).map((day) => day.toISOString().slice(0, 10)),
    legend: series.map(({ name, color }, index) => ({
      series: color,
      name,
      last: formatValue(rows[0]?.[columns[index] ?? ''] ?? null, 'number'),
    })),
  };
}

/** `{{chart tables.trend x="as_of" y="drifted,unknown" title="…" kind="area" by="version"}}` */
function buildChart(table: TableView, { hash, data }: HelperOptions, format: TemplateFormat): object {
  const rows = (data.root as RootContext)[table.id] as readonly Row[];
  const x = String(hash.x ?? 'as_of');
  const columns = splitList(hash.y);
  const series = buildSeries(rows, x, columns, hash.by).map((one) => ({
    ...one,
    name: hash.by ? truncate(one.name) : toHeading(one.name),
  }));
  const title = String(hash.title ?? table.title);
  const kind = hash.kind ?? 'line';
  const times = [...new Set(rows.map((row) => String(row[x])))].sort();
  return {
    ...table,
    title,
    svg:
      format === 'html' && times.length > 1
        ? new Handlebars.SafeString(drawChart({ title, series, kind, height: hash.height }))
        : null,
    hasGaps: splitAtGaps(times.map((time) => new Date(time))).length > 1,
    isShortened: times.length > MAX_NARROW_TIMES,
    legend: series.flatMap((one, index) =>
      toLegendEntry(one, index, String(data.root.as_of)).map((entry) => ({ ...entry, kind })),
    ),
    from: formatTime(times[0] ?? '').slice(0, 10),
  };
}

/** Nothing for a series without a point. `until`: the day of its last point, where that is not the one of the page. */
function toLegendEntry({ name, points }: Series, index: number, asOf: string): readonly object[] {
  const [least, largest] = findExtent(points.map(({ value }) => value));
  const last = points.at(-1);
  if (!last) return [];
  const day = last.at.toISOString().slice(0, 10);
  return [
    {
      name,
      series: seriesClass(index),
      last: formatNumber(last.value),
      until: day === asOf.slice(0, 10) ? null : day,
      lowest: formatNumber(least),
      highest: formatNumber(largest),
    },
  ];
}
