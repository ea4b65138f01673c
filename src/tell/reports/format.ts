import { stringify } from 'csv-stringify/sync';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../core/clock.ts';
import { shortenText, stripControls } from '../../core/log.ts';
import { plural } from '../../core/plural.ts';
import type { Row, Value } from '../../warehouse/values.ts';

/** How a value is shown, inferred from the name of its column, which contains the unit, and from the values. */
export type ValueKind = 'text' | 'number' | 'time' | 'bytes' | 'percent' | 'tag';

/** Shown for NULL and for empty lists. */
export const EMPTY_CELL = '—';

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/u;
const TAGS = new Set(['severity', 'state', 'status', 'was', 'behind']);
const MAX_TEXT_LENGTH = 300;
const NUMBER = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });
const BINARY_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

export function inferKind(column: string, values: readonly Value[]): ValueKind {
  if (column.endsWith('bytes')) return 'bytes';
  if (column.endsWith('percent')) return 'percent';
  if (TAGS.has(column)) return 'tag';
  const first = values.find((value) => value !== null);
  const isTime = (value: Value) => value === null || (typeof value === 'string' && TIME.test(value));
  if (typeof first === 'string' && values.every(isTime)) return 'time';
  return typeof first === 'number' || typeof first === 'bigint' ? 'number' : 'text';
}

export function formatValue(value: Value, kind: ValueKind): string {
  if (value === null) return EMPTY_CELL;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (kind === 'bytes') return formatBytes(Number(value));
  if (kind === 'percent') return `${NUMBER.format(Number(value))} %`;
  if (kind === 'time') return formatTime(String(value));
  if (typeof value === 'number' || typeof value === 'bigint') return formatNumber(value);
  if (Array.isArray(value) && value.length === 0) return EMPTY_CELL;
  if (Array.isArray(value)) return truncate(value.map((item) => formatValue(item, 'text')).join(', '));
  return truncate(typeof value === 'string' ? value : JSON.stringify(value, bigintToString));
}

/** With separators of thousands. An integer above 2^53 is no amount but an identifier, such as a serial number: it has none. */
export function formatNumber(value: number | bigint): string {
  if (typeof value === 'bigint' && value > Number.MAX_SAFE_INTEGER) return String(value);
  return NUMBER.format(value).replace('-', '−');
}

/** `2026-11-20 02:15`. The page states once that times are UTC, which keeps columns narrow. */
export function formatTime(iso: string): string {
  return iso.slice(0, 16).replace('T', ' ');
}

function formatBytes(bytes: number): string {
  const power = bytes > 0 ? Math.min(Math.floor(Math.log2(bytes) / 10), BINARY_UNITS.length - 1) : 0;
  return `${NUMBER.format(bytes / 1024 ** power)} ${BINARY_UNITS[power]}`;
}

const AGE_UNITS = [
  { minMs: 2 * DAY_MS, ms: DAY_MS, name: 'day' },
  { minMs: 2 * HOUR_MS, ms: HOUR_MS, name: 'hour' },
  { minMs: 0, ms: MINUTE_MS, name: 'minute' },
] as const;

/** `3 days`: the largest unit of which there are at least two. */
export function formatAge(ms: number): string {
  const unit = AGE_UNITS.find(({ minMs }) => ms >= minMs) ?? AGE_UNITS[2];
  return plural(Math.max(0, Math.floor(ms / unit.ms)), unit.name);
}

/** Text of a service for a page: without control characters and not longer than 300 characters. Data files hold the whole text. */
export function truncate(text: string, maxLength = MAX_TEXT_LENGTH): string {
  return shortenText(stripControls(text), maxLength);
}

/** A row whose texts are for a page. */
export function cleanTexts<T extends Readonly<Record<string, Value | undefined>>>(row: T) {
  const clean = (value: Value | undefined) => (typeof value === 'string' ? truncate(value) : (value ?? null));
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, clean(value)]));
}

/** `newly_failing` → `Newly failing`, `agent_id` → `Agent ID` */
export function toHeading(name: string): string {
  const words = name.replaceAll(/[_-]+/gu, ' ').trim().replace(/\bid$/u, 'ID');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function bigintToString(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

/**
 * Rows as CSV that a spreadsheet opens without executing anything: a text that starts a formula, also after spaces or a line break,
 * gets an apostrophe in front (OWASP, "CSV Injection"), and a control character, such as the one that begins a sequence of a
 * terminal, becomes U+FFFD. Numbers stay numbers, including negative ones.
 * @param follows whether other rows come before, with the line of the columns
 */
export function toSpreadsheetCsv(rows: readonly Row[], follows = false): string {
  const columns = Object.keys(rows[0] ?? {});
  const records = rows.map((row) => columns.map((column) => formatCell(row[column] ?? null)));
  return stringify(follows ? records : [columns, ...records], {
    record_delimiter: 'windows',
    quoted_match: /[\r\t']/u,
  });
}

function formatCell(value: Value): string {
  if (value === null) return '';
  if (typeof value === 'string') return toSpreadsheetText(value);
  if (typeof value === 'object') return toSpreadsheetText(JSON.stringify(value, bigintToString));
  return String(value);
}

/**
 * Includes the full-width forms, which some spreadsheets treat as the plain ones, and characters that they drop or do not show. It looks
 * back from what begins a formula: from each line break on, a text of line breaks would be read as often as it has some.
 */
const FORMULA = /[=+\-@\uff1d\uff0b\uff0d\uff20](?<=(?:^|[\r\n])[\s\p{C}]*.)|^[\t\r\n]/u;

/** But for tab and line breaks, which are text in a cell. */
const CONTROL = /[^\P{Cc}\t\r\n]/gu;

function toSpreadsheetText(text: string): string {
  return (FORMULA.test(text) ? `'${text}` : text).replaceAll(CONTROL, '\ufffd');
}

/** Of a file of RFC 5545, which calendars subscribe to. */
const MAX_LINE_BYTES = 75;
const LINE_BREAK = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/gu;

/** A value of the type TEXT. */
export function escapeCalendarText(text: string): string {
  return text
    .replaceAll(/[\\;,]/gu, String.raw`\$&`)
    .split(LINE_BREAK)
    .map(stripControls)
    .join(String.raw`\n`);
}

/** Lines as RFC 5545 ends and folds them. */
export function toCalendarLines(text: string): string {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => `${foldLine(line)}\r\n`)
    .join('');
}

/** No line is longer than 75 octets, and no character is cut. */
function foldLine(line: string): string {
  let bytes = 0;
  let folded = '';
  for (const character of line) {
    const size = Buffer.byteLength(character);
    if (bytes + size > MAX_LINE_BYTES) {
      folded += '\r\n ';
      bytes = 1;
    }
    folded += character;
    bytes += size;
  }
  return folded;
}
