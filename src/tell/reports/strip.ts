import type { Value } from '../../warehouse/values.ts';
import { truncate } from './format.ts';
import { escapeMarkup, roundPixels } from './markup.ts';

/** What a cell draws: a list of `{kind, value, text}` in the data. */
export interface StripPart {
  /** `good`, `warn`, `bad`, `soft` or `info`, which the stylesheet colors; `limit` is a mark. */
  readonly kind: string;
  readonly value: number;
  /** The part in words. */
  readonly text: string;
}

/** `bar`: parts of a length; `squares`: one square for each part. */
export type StripKind = 'bar' | 'squares';

const WIDTH = 220;
const HEIGHT = 14;
const SQUARE = 14;
const STEP = 18;
const PER_LINE = 12;

export function toParts(value: Value): readonly StripPart[] {
  if (!Array.isArray(value)) return [];
  return value.map((part) => {
    const { kind, value: length, text } = part as Record<string, Value>;
    return { kind: String(kind), value: Number(length ?? 0), text: truncate(String(text ?? '')) };
  });
}

/** The parts in words, for readers that show no picture. */
export function describeParts(parts: readonly StripPart[]): string {
  return parts
    .map(({ text }) => text)
    .filter(Boolean)
    .join(', ');
}

/** The length that fills a bar: the longest of a column. */
export function measureParts(parts: readonly StripPart[]): number {
  const sum = parts.reduce((total, { kind, value }) => (kind === 'limit' ? total : total + value), 0);
  return Math.max(sum, ...parts.map(({ value }) => value), 0);
}

export function drawStrip(parts: readonly StripPart[], kind: StripKind, longest: number): string {
  if (parts.length === 0) return '';
  const size = kind === 'bar' ? [WIDTH, HEIGHT] : squaresSize(parts.length);
  const shapes = kind === 'bar' ? drawBar(parts, longest) : parts.map(drawSquare);
  const [width, height] = size;
  const label = escapeMarkup(describeParts(parts));
  const words =
    kind === 'bar'
      ? `<small>${escapeMarkup(describeParts(parts.filter((part) => part.kind !== 'limit')))}</small>`
      : '';
  return `<svg class="strip" role="img" aria-label="${label}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">${shapes.join('')}</svg>${words}`;
}

function squaresSize(count: number): readonly [number, number] {
  return [Math.min(count, PER_LINE) * STEP, Math.ceil(count / PER_LINE) * STEP];
}

function drawSquare({ kind, text }: StripPart, index: number): string {
  const [x, y] = [(index % PER_LINE) * STEP, Math.floor(index / PER_LINE) * STEP + 2];
  return `<rect class="part ${className(kind)}" x="${x}" y="${y}" width="${SQUARE}" height="${SQUARE}" rx="2"><title>${escapeMarkup(text)}</title></rect>`;
}

function drawBar(parts: readonly StripPart[], longest: number): readonly string[] {
  const scale = (value: number) => roundPixels((Math.max(0, value) / (longest || 1)) * (WIDTH - 2));
  let left = 0;
  return parts.map(({ kind, value, text }) => {
    const title = `<title>${escapeMarkup(text)}</title>`;
    if (kind === 'limit') return `<path class="limit" d="M${scale(value)},0V${HEIGHT}">${title}</path>`;
    const width = value > 0 ? Math.max(2, scale(value)) : 0;
    const rect = `<rect class="part ${className(kind)}" x="${roundPixels(left)}" y="1" width="${width}" height="${HEIGHT - 2}">${title}</rect>`;
    left += width;
    return rect;
  });
}

/** Kinds are of queries that a user may write. */
const className = (kind: string) => `is-${kind.replaceAll(/[^a-z]/gu, '')}`;
