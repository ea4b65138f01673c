import { printable } from '../core/log.ts';
import type { Plain } from '../warehouse/values.ts';

/** How a value is shown; told from the column's name, which says its unit, and from the value. */
export type Kind = 'text' | 'number' | 'time' | 'bytes' | 'percent' | 'tag';

/** What stands for a value that there is none of. */
export const NONE = '—';

const TAGS = new Set(['severity', 'state', 'status', 'was', 'behind']);
const LONGEST_TEXT = 300;
const NUMBER = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });
const BINARY_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

export function kindOf(column: string, values: readonly Plain[]): Kind {
  if (column.endsWith('bytes')) return 'bytes';
  if (column.endsWith('percent')) return 'percent';
  if (TAGS.has(column)) return 'tag';
  const told = values.find((value) => value !== null);
  if (typeof told === 'string' && values.every(isTimeOrNull)) return 'time';
  return typeof told === 'number' || typeof told === 'bigint' ? 'number' : 'text';
}

function isTimeOrNull(value: Plain): boolean {
  return value === null || (typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/u.test(value));
}

export function formatValue(value: Plain, kind: Kind): string {
  if (value === null) return NONE;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (kind === 'bytes') return formatBytes(Number(value));
  if (kind === 'percent') return `${NUMBER.format(Number(value))} %`;
  if (kind === 'time') return formatTime(String(value));
  if (typeof value === 'number' || typeof value === 'bigint') return formatNumber(value);
  if (Array.isArray(value) && value.length === 0) return NONE;
  if (Array.isArray(value)) return shortened(value.map((item) => formatValue(item, 'text')).join(', '));
  return shortened(typeof value === 'string' ? value : JSON.stringify(value, stringOfBigint));
}

export function formatNumber(value: number | bigint): string {
  return NUMBER.format(value).replace('-', '−');
}

/** `2026-11-20 02:15 UTC`; the zone is told once a page, so that a column is narrow. */
export function formatTime(iso: string): string {
  return iso.slice(0, 16).replace('T', ' ');
}

function formatBytes(bytes: number): string {
  const power = bytes > 0 ? Math.min(Math.floor(Math.log2(bytes) / 10), BINARY_UNITS.length - 1) : 0;
  return `${NUMBER.format(bytes / 1024 ** power)} ${BINARY_UNITS[power]}`;
}

/** Names come from outside: without control characters, and of a length that a page bears. The data files hold them whole. */
export function shortened(text: string): string {
  const clean = printable(text);
  return clean.length > LONGEST_TEXT ? `${clean.slice(0, LONGEST_TEXT).replace(/[\ud800-\udbff]$/u, '')}…` : clean;
}

function stringOfBigint(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
