import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export interface InterpolationContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Directory that relative `${file:…}` paths start from. */
  readonly directory: string;
}

const REFERENCE = /\$\{([^}]*)\}/gu;

/**
 * Replaces `${NAME}` from the environment and `${file:PATH}` from a file (trailing newline dropped) in every string of a
 * parsed document. What cannot be resolved goes to `report` with the path of its field and is left empty.
 */
export function interpolate(
  value: unknown,
  source: InterpolationContext,
  report: (path: readonly PropertyKey[], message: string) => void,
  path: readonly PropertyKey[] = [],
): unknown {
  if (typeof value === 'string')
    return value.replaceAll(REFERENCE, (_, name: string) => lookUp(name, source, path, report));
  if (Array.isArray(value)) return value.map((item, index) => interpolate(item, source, report, [...path, index]));
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([key, inner]) => [
    key,
    interpolate(inner, source, report, [...path, key]),
  ]);
  return Object.fromEntries(entries);
}

function lookUp(
  name: string,
  { env, directory }: InterpolationContext,
  path: readonly PropertyKey[],
  report: (path: readonly PropertyKey[], message: string) => void,
): string {
  if (name.startsWith('file:')) {
    const file = resolve(directory, name.slice('file:'.length));
    try {
      return readFileSync(file, 'utf8').replace(/\r?\n$/u, '');
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : 'cannot be read';
      report(path, `\${${name}}: the file ${reason}`);
      return '';
    }
  }
  const value = env[name];
  if (value === undefined || value === '') {
    report(path, `the environment variable ${name} is not set`);
    return '';
  }
  return value;
}
