import { canonicalJson } from './canonical-json.ts';

/** A line of a difference: removed, added, changed, or the same text around them. */
export interface DiffLine {
  readonly sign: '-' | '+' | '~' | ' ';
  readonly text: string;
}

/** Values are cut at this length. */
const MAX_VALUE_LENGTH = 200;
/** Longer texts are compared as a whole: the comparison takes the product of both lengths. */
const MAX_COMPARED_LINES = 500;

/**
 * The difference of two JSON values, field by field; what is equal is left out. A field is named by its path, such as
 * `query.sort`. A null stands for a subject that does not exist: then every field of the other value is added or removed.
 */
export function diffValues(before: unknown, after: unknown): readonly DiffLine[] {
  const [left, right] = [flatten(before), flatten(after)];
  const paths = [...new Set([...left.keys(), ...right.keys()])];
  return paths.flatMap((path) => {
    if (!right.has(path)) return [{ sign: '-', text: formatField(path, left.get(path)) } as const];
    if (!left.has(path)) return [{ sign: '+', text: formatField(path, right.get(path)) } as const];
    return diffField(path, left.get(path), right.get(path));
  });
}

/** The leaves of a value by path: texts, numbers, booleans, null, and lists. */
function flatten(value: unknown, path = ''): Map<string, unknown> {
  if (value === null || value === undefined) return new Map(path === '' ? [] : [[path, null]]);
  if (typeof value !== 'object' || Array.isArray(value)) return new Map([[path, value]]);
  const entries = Object.entries(value);
  if (entries.length === 0) return new Map(path === '' ? [] : [[path, {}]]);
  return new Map(entries.flatMap(([name, inner]) => [...flatten(inner, path === '' ? name : `${path}.${name}`)]));
}

function diffField(path: string, before: unknown, after: unknown): readonly DiffLine[] {
  if (canonicalJson(before) === canonicalJson(after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) return [header(path), ...diffLists(before, after)];
  const isText = typeof before === 'string' && typeof after === 'string' && /\n/u.test(`${before}${after}`);
  if (isText) return [header(path), ...toHunks(diffTexts(before.split('\n'), after.split('\n'))).map(indented)];
  return [{ sign: '~', text: `${path}: ${formatValue(before)} -> ${formatValue(after)}` }];
}

function header(path: string): DiffLine {
  return { sign: '~', text: `${path}:` };
}

function indented({ sign, text }: DiffLine): DiffLine {
  return { sign, text: `  ${text}` };
}

/** The items that only one of two lists has. Lists with the same items differ in their order. */
function diffLists(before: readonly unknown[], after: readonly unknown[]): readonly DiffLine[] {
  const only = (items: readonly unknown[], others: readonly unknown[], sign: '-' | '+') => {
    const known = new Set(others.map((item) => canonicalJson(item)));
    return items
      .filter((item) => !known.has(canonicalJson(item)))
      .map((item) => ({ sign, text: `  ${formatValue(item)}` }));
  };
  const lines = [...only(before, after, '-'), ...only(after, before, '+')];
  return lines.length > 0 ? lines : [{ sign: '~', text: `  ${formatValue(before)} -> ${formatValue(after)}` }];
}

/** Lines around a change that a reader sees. */
const CONTEXT = 3;

/** The lines near a change, each group after the numbers of its first line, as in a unified diff. */
function toHunks(lines: readonly DiffLine[]): readonly DiffLine[] {
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ sign }) => sign !== ' '),
  );
  let [before, after] = [1, 1];
  return lines.flatMap((line, index): readonly DiffLine[] => {
    const isStart = isNear[index] && !(isNear[index - 1] ?? isNear.every(Boolean));
    const hunk = isStart ? [{ sign: ' ', text: `@@ -${before} +${after} @@` } as const] : [];
    if (line.sign !== '+') before++;
    if (line.sign !== '-') after++;
    return isNear[index] ? [...hunk, line] : [];
  });
}

/** The lines of two texts by their longest common subsequence. */
function diffTexts(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  if (before.length > MAX_COMPARED_LINES || after.length > MAX_COMPARED_LINES) {
    return [...before.map((text) => toLine(text, true)), ...after.map((text) => toLine(text))];
  }
  /** The number of common lines of `before` from a place on and `after` from another on. */
  const common = [...before, ''].map(() => new Uint16Array(after.length + 1));
  const commonAt = (i: number, j: number) => common[i]?.[j] ?? 0;
  for (const [i, row] of [...common.entries()].reverse().slice(1)) {
    for (let j = after.length - 1; j >= 0; j--) {
      row[j] = before[i] === after[j] ? commonAt(i + 1, j + 1) + 1 : Math.max(commonAt(i + 1, j), commonAt(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  for (let [i, j] = [0, 0]; i < before.length || j < after.length; ) {
    const isSame = before[i] === after[j]; // neither is beyond its end: then the other one is not
    const isRemoved = !isSame && (j >= after.length || (i < before.length && commonAt(i + 1, j) >= commonAt(i, j + 1)));
    lines.push(isSame ? { sign: ' ', text: before[i] ?? '' } : toLine(isRemoved ? before[i] : after[j], isRemoved));
    if (isSame || isRemoved) i++;
    if (!isRemoved) j++;
  }
  return lines;
}

function toLine(text = '', isRemoved = false): DiffLine {
  return { sign: isRemoved ? '-' : '+', text };
}

function formatField(path: string, value: unknown): string {
  return path === '' ? formatValue(value) : `${path}: ${formatValue(value)}`;
}

function formatValue(value: unknown): string {
  const text = canonicalJson(value ?? null);
  return text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text;
}
