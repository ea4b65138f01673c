import { structuredPatch } from 'diff';
import { isLosslessNumber, stringify } from 'lossless-json';
import { canonicalJson } from './canonical-json.ts';
import { shortenText } from './log.ts';

/** A line of a difference: removed, added, changed, or the same text around them. */
export interface DiffLine {
  readonly sign: '-' | '+' | '~' | ' ';
  readonly text: string;
}

const MAX_VALUE_LENGTH = 200;
/** Texts that differ in more lines are shown whole: the comparison takes the square of their number. */
const MAX_DIFFERENT_LINES = 1000;
/** Lines around a change that a reader sees. */
const CONTEXT = 3;

/**
 * The difference of two JSON values (`parseJson` or `parseLossless`), field by field; what is equal is left out. A field is named by its
 * path, such as `query.sort`. A null stands for a subject that does not exist: then every field of the other value is added or removed.
 */
export function diffValues(before: unknown, after: unknown): readonly DiffLine[] {
  const [left, right] = [flatten(before), flatten(after)];
  const paths = [...new Set([...left.keys(), ...right.keys()])];
  return paths.flatMap((path): readonly DiffLine[] => {
    const label = path === '' ? '' : `${path}: `;
    if (!right.has(path)) return [{ sign: '-', text: `${label}${formatValue(left.get(path))}` }];
    if (!left.has(path)) return [{ sign: '+', text: `${label}${formatValue(right.get(path))}` }];
    return diffField(path, left.get(path), right.get(path));
  });
}

/** The leaves of a value by path: texts, numbers, booleans, null, and lists. */
function flatten(value: unknown, path = ''): Map<string, unknown> {
  if (value === null || value === undefined) return new Map(path === '' ? [] : [[path, null]]);
  if (typeof value !== 'object' || Array.isArray(value) || isLosslessNumber(value)) return new Map([[path, value]]);
  const entries = Object.entries(value);
  if (entries.length === 0) return new Map(path === '' ? [] : [[path, {}]]);
  return new Map(entries.flatMap(([name, inner]) => [...flatten(inner, path === '' ? name : `${path}.${name}`)]));
}

function diffField(path: string, before: unknown, after: unknown): readonly DiffLine[] {
  if (canonicalJson(before) === canonicalJson(after)) return [];
  const below = diffParts(before, after);
  if (!below) return [{ sign: '~', text: `${path}: ${formatValue(before)} -> ${formatValue(after)}` }];
  return [{ sign: '~', text: `${path}:` }, ...below.map(({ sign, text }) => ({ sign, text: `  ${text}` }))];
}

/** The items or lines that differ, of two lists or of texts of several lines. */
function diffParts(before: unknown, after: unknown): readonly DiffLine[] | undefined {
  if (Array.isArray(before) && Array.isArray(after)) return diffLists(before, after);
  const isText = typeof before === 'string' && typeof after === 'string' && /\n/u.test(`${before}${after}`);
  return isText ? diffTexts(before, after) : undefined;
}

/** The items that only one of two lists has. Lists with the same items differ in their order. */
function diffLists(before: readonly unknown[], after: readonly unknown[]): readonly DiffLine[] {
  const only = (items: readonly unknown[], others: readonly unknown[], sign: '-' | '+') => {
    const known = new Set(others.map((item) => canonicalJson(item)));
    return items.filter((item) => !known.has(canonicalJson(item))).map((item) => ({ sign, text: formatValue(item) }));
  };
  const lines = [...only(before, after, '-'), ...only(after, before, '+')];
  return lines.length > 0 ? lines : [{ sign: '~', text: `${formatValue(before)} -> ${formatValue(after)}` }];
}

/** The lines near a change, each group after the numbers of its first line, as in a unified diff. */
function diffTexts(before: string, after: string): readonly DiffLine[] {
  const options = { context: CONTEXT, maxEditLength: MAX_DIFFERENT_LINES };
  // Each line has a break, so that a break at the end of one text alone is a line more.
  const patch = structuredPatch('', '', `${before}\n`, `${after}\n`, '', '', options);
  const oldLines = before.split('\n');
  const toLine = (sign: DiffLine['sign']) => (text: string) => ({ sign, text });
  if (!patch) return [...oldLines.map(toLine('-')), ...after.split('\n').map(toLine('+'))];
  return patch.hunks.flatMap(({ oldStart, newStart, oldLines: count, lines }) => [
    ...(count === oldLines.length ? [] : [toLine(' ')(`@@ -${oldStart} +${newStart} @@`)]),
    ...lines.map((line) => toLine(line[0] as DiffLine['sign'])(line.slice(1))),
  ]);
}

function formatValue(value: unknown): string {
  return shortenText(stringify(value ?? null) ?? 'null', MAX_VALUE_LENGTH);
}
