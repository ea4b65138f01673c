import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { ScreenSize, WriteText } from '../ask/query/protocol.ts';
import type { SavedQuery } from '../ask/query/saved.ts';
import type { Config } from '../config/config.ts';
import type { Format } from '../core/choices.ts';
import type { Colors } from '../core/color.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { printJson } from '../core/json.ts';
import { stripControls } from '../core/log.ts';
import { plural } from '../core/plural.ts';
import { fitWidths, lineWidth, measureColumns, tableLines } from '../core/text-table.ts';
import type { RunResult } from '../run/run.ts';
import type { Delivery } from '../tell/mail/send.ts';

/** Writes a result to stdout: the value with `--json`, otherwise the text. */
export function writeResult(context: Context, value: unknown, text: () => string): void {
  context.stdout(context.json ? `${printJson(value)}\n` : text());
}

/** The path of a result, which must not replace the ledger, a plan or the warehouse. @throws TidemarkError USAGE */
export function resolveOutput({ cwd }: Pick<Context, 'cwd'>, { data }: Pick<Config, 'data'>, given: string): string {
  const path = resolve(cwd, given);
  const within = existsSync(data) ? relative(realpathSync(data), findReal(path)) : '..';
  if (within.split(sep, 1)[0] === '..' || isAbsolute(within)) return path;
  throw new TidemarkError('USAGE', `${path} is in the data folder, where Tidemark alone writes`, {
    hint: 'write the result to another folder',
  });
}

/** A path without links, of which the end need not exist. */
function findReal(path: string): string {
  return existsSync(path) ? realpathSync(path) : join(findReal(dirname(path)), basename(path));
}

/** Text from outside must not control the terminal; a pipe or a file receives every byte. */
export function toPrintable({ screen }: Pick<Context, 'screen'>, text: string): string {
  return screen ? stripControls(text) : text;
}

/** How stdout shows a table. */
export type TableStyle = Pick<Context, 'colors' | 'screen'>;

interface TableOptions extends TableStyle {
  /** Columns that a person copies: they are never cut. */
  readonly wholeColumns?: readonly string[];
  /** Columns that a narrow screen does without, in this order, before another one is broken. */
  readonly spareColumns?: readonly string[];
}

/** Columns whose cells are sentences. */
const WRAPPED = new Set(['action', 'description', 'detail', 'meaning', 'problem', 'reason', 'state', 'status', 'what']);
/** A column that is broken before it has this many cells costs more lines than a spare column is worth. */
const MIN_ROOM = 32;

/** Aligned columns under labels in capitals, as `gh` prints them, as wide as the screen; ends with a line break. */
export function formatTable(
  labels: readonly string[],
  rows: readonly (readonly unknown[])[],
  { colors, screen, wholeColumns = [], spareColumns = [] }: TableOptions,
): string {
  const room = screen?.columns ?? Number.POSITIVE_INFINITY;
  const all = labels.map((label) => ({
    label: label.toUpperCase(),
    isWhole: wholeColumns.includes(label),
    isWrapped: WRAPPED.has(label),
    ...(STATUS_COLUMNS.has(label) && { paint: (cell: string) => colorStatus(colors, cell) }),
  }));
  const cells = rows.map((row) => row.map(formatCell));
  const widths = measureColumns(all, cells);
  let isShown = labels.map(() => true);
  const shown = <T>(list: readonly T[]) => list.filter((_, index) => isShown[index]);
  const isBroken = () => {
    const natural = shown(widths);
    const kept = shown(all).map(({ isWhole }) => isWhole);
    return fitWidths(natural, room, kept).some((width, index) => width < Math.min(MIN_ROOM, natural[index] ?? 0));
  };
  for (const spare of spareColumns)
    if (isBroken()) isShown = labels.map((label, index) => isShown[index] === true && label !== spare);
  const [header = '', ...lines] = tableLines(shown(all), cells.map(shown), room);
  const isLess = isShown.includes(false) || (lineWidth(widths) > room && lines.some((line) => line.includes('…')));
  return [colors.dim(header), ...lines, ...(isLess ? [colors.dim('--wide shows all')] : []), ''].join('\n');
}

/** A time as every command prints it: ISO 8601, UTC, to the second. JSON has it whole. */
export function formatTime(time: unknown): string {
  const text = String(time ?? '');
  return text.replace(/^(\d{4}-\d\d-\d\d)[T ]([\d:]{8})(?:\.\d+)?(?:Z|\+00(?::?00)?)$/u, '$1T$2Z');
}

/** The last lines of a command that leads to others. Steps name commands as `tidemark …`; the user gets them as the shell runs them. */
export function formatNextSteps(steps: readonly string[], { program, colors }: Pick<Context, 'program' | 'colors'>) {
  const own = (step: string) => stripControls(step).replaceAll('`tidemark ', () => `\`${program} `);
  const lines = steps.map((step, index) => `  ${index + 1}. ${own(step)}\n`);
  return `${colors.bold('Next:')}\n${lines.join('')}`;
}

/** Columns whose cells have a colour. */
const STATUS_COLUMNS = new Set(['result', 'severity', 'state', 'status']);
/** The words that such a cell begins with, by their colour. */
const STATUS_WORDS = {
  green: ['ok', 'complete', 'applied', 'resolved'],
  yellow: ['new', 'warning', 'incomplete', 'partial', 'quarantined', 'unconfirmed'],
  red: ['critical', 'failed', 'FAIL'],
};

function colorStatus(colors: Colors, text: string): string {
  const [word = ''] = /^\w+/u.exec(text) ?? [];
  const color = (['green', 'yellow', 'red'] as const).find((each) => STATUS_WORDS[each].includes(word));
  return color ? colors[color](text) : text;
}

function formatCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return stripControls(text.replaceAll(/\s+/gu, ' '));
}

/** Prints one JSON array, each item as it arrives. */
export async function printJsonArray(items: AsyncIterable<unknown> | Iterable<unknown>, print: Context['print']) {
  let isOpen = false;
  for await (const item of items) {
    await print(`${isOpen ? ',\n' : '[\n'}  ${printJson(item).replaceAll('\n', '\n  ')}`);
    isOpen = true;
  }
  await print(isOpen ? '\n]\n' : '[]\n');
}

/**
 * One line: run, status, how many sources are complete, and what else failed, without which a run is not complete.
 * @param failed such as `rule own`
 */
export function formatRunSummary(
  { run_id, status, pulls }: Pick<RunResult, 'run_id' | 'status' | 'pulls'>,
  failed: readonly string[],
): string {
  const complete = pulls.filter((pull) => pull.status === 'complete').length;
  const shown = status === 'complete' && failed.length > 0 ? 'incomplete' : status;
  const also = failed.length > 0 ? `; failed: ${failed.join(', ')}` : '';
  return `run ${run_id}: ${shown}, ${complete} of ${pulls.length} sources complete${also}\n`;
}

/** `2 of 3 digests sent` */
export function formatSent(deliveries: readonly Delivery[]): string {
  const sent = deliveries.filter(({ status }) => status === 'sent').length;
  return `${sent} of ${plural(deliveries.length, 'digest')} sent`;
}

/** What prints a result. The formats for programs have texts as they are; the others are made for a terminal, with colours of ours. */
export function guardTerminal(context: Context, format: Format, write: WriteText = context.print): WriteText {
  return format === 'table' || format === 'line' ? write : (text) => write(toPrintable(context, text));
}

const DEFAULT_MAX_ROWS = 40;

/** A terminal shows the first and last rows; elsewhere every row is written unless `maxRows` is given. 0 means all. */
export function selectScreen({ screen, colors }: Context, maxRows: number | undefined): ScreenSize | undefined {
  if (screen === undefined && maxRows === undefined) return undefined;
  const rows = maxRows ?? DEFAULT_MAX_ROWS;
  return {
    width: screen?.columns ?? Number.POSITIVE_INFINITY,
    maxRows: rows === 0 ? Number.POSITIVE_INFINITY : rows,
    hasColor: colors.isColorSupported,
  };
}

export function listSavedQueries(context: Context, queries: ReadonlyMap<string, SavedQuery>): void {
  const list = [...queries.values()];
  const rows = list.map(({ name, title, parameters }) => [name, title, parameters.map((each) => each.name).join(', ')]);
  writeResult(context, list, () => formatTable(['query', 'title', 'parameters'], rows, context));
}
