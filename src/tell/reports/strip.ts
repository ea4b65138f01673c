import type { Value } from '../../warehouse/values.ts';
import { truncate } from './format.ts';
import { element, escapeMarkup, roundPixels, tooltip } from './markup.ts';

/** What a cell draws: a list of `{kind, value, text}` in the data. */
type StripPart = Readonly<ReturnType<typeof toParts>[number]>;

const WIDTH = 220;
const HEIGHT = 14;
const SQUARE = 14;
const STEP = 18;
const PER_LINE = 12;

/** The kinds are `good`, `warn`, `bad`, `soft` or `info`, which the stylesheet colors; `limit` is a mark. */
export function toParts(value: Value) {
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
  return parts.reduce((most, { value }) => Math.max(most, value), Math.max(sum, 0));
}

/** @param kind `squares`: one square for each part; otherwise parts of a length */
export function drawStrip(parts: readonly StripPart[], kind: string, longest: number): string {
  if (parts.length === 0) return '';
  const [width, height, shapes] = kind === 'squares' ? drawSquares(parts) : [WIDTH, HEIGHT, drawBar(parts, longest)];
  const label = { class: 'strip', role: 'img', 'aria-label': describeParts(parts) };
  const picture = element('svg', { ...label, viewBox: `0 0 ${width} ${height}`, width, height }, ...shapes);
  if (kind === 'squares') return picture;
  return `${picture}${element('small', {}, escapeMarkup(describeParts(parts.filter((part) => part.kind !== 'limit'))))}`;
}

function drawSquares(parts: readonly StripPart[]): readonly [width: number, height: number, shapes: readonly string[]] {
  const shapes = parts.map(({ kind, text }, index) => {
    const place = { x: (index % PER_LINE) * STEP, y: Math.floor(index / PER_LINE) * STEP + 2 };
    return drawPart(kind, { ...place, width: SQUARE, height: SQUARE, rx: 2 }, text);
  });
  return [Math.min(parts.length, PER_LINE) * STEP, Math.ceil(parts.length / PER_LINE) * STEP, shapes];
}

function drawBar(parts: readonly StripPart[], longest: number): readonly string[] {
  const scale = (value: number) => roundPixels((Math.max(0, value) / (longest || 1)) * (WIDTH - 2));
  let left = 0;
  return parts.map(({ kind, value, text }) => {
    if (kind === 'limit') return element('path', { class: 'limit', d: `M${scale(value)},0V${HEIGHT}` }, tooltip(text));
    const [x, width] = [left, value > 0 ? Math.max(2, scale(value)) : 0];
    left += width;
    return drawPart(kind, { x, y: 1, width, height: HEIGHT - 2 }, text);
  });
}

/** Kinds are of queries that a user may write. */
function drawPart(kind: string, box: Readonly<Record<string, number>>, text: string): string {
  return element('rect', { class: `part is-${kind.replaceAll(/[^a-z]/gu, '')}`, ...box }, tooltip(text));
}
