import type { Answer } from './step.ts';

/** The value at a path of names and indexes; undefined where there is none. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((inner, name) => {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, name)) return undefined;
    return (inner as Readonly<Record<string | number, unknown>>)[name];
  }, value);
}

/** Text that is there; an empty one counts as none. */
export function textAt(value: unknown, ...path: readonly (string | number)[]): string | null {
  const found = at(value, ...path);
  return typeof found === 'string' && found !== '' ? found : null;
}

export function numberAt(value: unknown, ...path: readonly (string | number)[]): number | null {
  const found = at(value, ...path);
  return typeof found === 'number' ? found : null;
}

export function booleanAt(value: unknown, ...path: readonly (string | number)[]): boolean | null {
  const found = at(value, ...path);
  return typeof found === 'boolean' ? found : null;
}

/** A list that is there; undefined where the service does not tell one. */
export function listAt(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] | undefined {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : undefined;
}

/** The body of an answer; undefined where the subject is not there. */
export function bodyOf(answer: Answer): unknown {
  return answer.found ? answer.value : undefined;
}

/** The items of a list that was read whole. */
export function itemsOf(answer: Answer): readonly unknown[] {
  return answer.found && Array.isArray(answer.value) ? answer.value : [];
}

/** Two lists hold the same texts, in whatever order. */
export function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && [...a].sort().join('\n') === [...b].sort().join('\n');
}
