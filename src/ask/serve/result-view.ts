import Handlebars from 'handlebars';
import { indentJson } from '../../core/json.ts';
import { cutText, stripControls } from '../../core/log.ts';
import { plural } from '../../core/plural.ts';
import { formatNumber } from '../../tell/reports/format.ts';
import { escapeMarkup, isolate } from '../../tell/reports/markup.ts';
import type { ColumnInfo } from '../query/protocol.ts';
import { isNested } from '../query/sql-text.ts';
import { type Exchange, readPublishedAt } from './page.ts';
import { chartResult } from './result-chart.ts';
import { RESULT_FORMATS, type ResultPage } from './results.ts';

/** Where a result is found: the page that shows it, its files without the extension, and the parameters of both. */
export interface ResultAddress {
  readonly page: string;
  readonly files: string;
  /** Without `as_of` and `view`. */
  readonly params: Readonly<Record<string, string>>;
}

/**
 * What the partial `result` shows: the beginning of a result as a table, or as a chart with `view=chart`, with links to files of
 * all of it and to this page.
 * @param seconds how long the query took
 */
export async function viewResult(exchange: Exchange, result: ResultPage, address: ResultAddress, seconds: number) {
  const { page, files, params } = address;
  const isChart = exchange.url.searchParams.get('view') === 'chart';
  const { svg, legend, notes } = isChart ? chartResult(result) : { svg: '', legend: [], notes: [] };
  return {
    count: describeCount(result, isChart),
    seconds: seconds.toFixed(2),
    ...{ page, params },
    view: isChart ? 'chart' : '',
    downloads: RESULT_FORMATS.map((format) => ({ format, path: `${files}.${format}` })),
    // A link that shows the same data after the next run too; empty where the page has a time already.
    frozenAt: exchange.url.searchParams.get('as_of') ? '' : await readPublishedAt(exchange),
    isChart,
    isEmpty: result.rows.length === 0,
    isLong: !isChart && result.rows.length > FIRST_ROWS,
    shown: result.rows.length,
    chart: { svg: new Handlebars.SafeString(svg), hasSvg: svg !== '', legend, notes },
    columns: result.columns.map(viewColumn),
    rows: new Handlebars.SafeString(isChart ? '' : drawRows(result)),
    total: result.isCut ? `more than ${formatNumber(result.rows.length)}` : '',
  };
}

/** A longer table opens, as those of reports do. */
const FIRST_ROWS = 15;

function viewColumn({ name, type, isNumber }: ColumnInfo) {
  return { name: stripControls(name), type, isNumber };
}

/** The address of a cell's text, if it has one. */
export type CellLinker = (row: ResultPage['rows'][number], column: number) => string | undefined;

/** A page of a table, with what each column's header adds. */
export function viewTable(result: ResultPage, describe: (column: string) => object, link: CellLinker) {
  return {
    columns: result.columns.map((column) => ({ ...viewColumn(column), ...describe(column.name) })),
    rows: new Handlebars.SafeString(drawRows(result, link)),
    isEmpty: result.rows.length === 0,
  };
}

function describeCount({ rows, isCut }: ResultPage, isChart: boolean): string {
  if (!isCut) return plural(rows.length, 'row');
  const what = isChart ? 'chart' : 'table';
  const count = formatNumber(rows.length);
  return `The result has more than ${count} rows: the ${what} has the first ${count}, and the files have all.`;
}

/** Rows are most of a page, so they are not a template. */
function drawRows({ columns, rows }: ResultPage, link: CellLinker = () => undefined): string {
  const labels = columns.map(({ name }) => ` data-label="${escapeMarkup(stripControls(name))}"`);
  const drawRow = (row: ResultPage['rows'][number]) =>
    columns.map((column, index) => drawCell(column, row[index] ?? null, labels[index], link(row, index))).join('');
  return rows.map((row) => `<tr>${drawRow(row)}</tr>`).join('\n');
}

/** NULL is a word in another style, so that it differs from an empty text and from the text "NULL". */
function drawCell({ type, isNumber }: ColumnInfo, value: string | null, label = '', href?: string): string {
  const kind = isNumber ? ' class="n"' : isTree(type) || value === null ? '' : ' class="text"';
  const sort = value === null ? ' data-v=""' : '';
  const content = value === null ? '<i class="null">NULL</i>' : drawValue(type, value, href === undefined);
  const linked = href === undefined ? content : `<a href="${escapeMarkup(href)}">${content}</a>`;
  return `<td${kind}${label}${sort}>${linked}</td>`;
}

function drawValue(type: string, value: string, mayFold: boolean): string {
  if (isTree(type)) return drawJson(value);
  if (!mayFold || value.length <= MAX_TEXT_LENGTH) return drawText(value);
  return `<details><summary>${drawText(cutText(value, MAX_TEXT_LENGTH / 2))}…</summary>${drawText(value)}</details>`;
}

const isTree = (type: string) => type === 'JSON' || isNested(type);

/** Longer text and JSON are folded. */
const MAX_TEXT_LENGTH = 120;
const MAX_JSON_LENGTH = 60;

function drawJson(text: string): string {
  if (text.length <= MAX_JSON_LENGTH) return `<code>${drawText(text)}</code>`;
  const start = drawText(cutText(text, MAX_JSON_LENGTH));
  const whole = escapeMarkup(stripControls(indentJson(text)));
  return `<details><summary><code>${start}…</code></summary><pre>${whole}</pre></details>`;
}

function drawText(text: string): string {
  return isolate(stripControls(text));
}
