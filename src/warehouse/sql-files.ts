import { readFileSync } from 'node:fs';
import { TidemarkError } from '../core/errors.ts';
import { findFile } from '../core/paths.ts';

/** SQL text from `queries/`, by path without `.sql`. A file beside the configuration overrides the package's. */
export interface SqlFiles {
  /** Whether there is such a file. */
  has(name: string): boolean;
  read(name: string): Promise<string>;
  /** The text with each `{{name}}` replaced, comments removed: for identifiers, which cannot be bound as parameters. */
  render(name: string, parts: Readonly<Record<string, string>>): Promise<string>;
  readonly roots: readonly string[];
}

export function createSqlFiles(roots: readonly string[]): SqlFiles {
  const cache = new Map<string, Promise<string>>();
  const load = async (name: string): Promise<string> => {
    const path = findFile(roots, `queries/${name}.sql`);
    if (!path) throw new TidemarkError('DATA', `queries/${name}.sql does not exist`);
    return readFileSync(path, 'utf8'); // a small file: an asynchronous read costs several times as much
  };
  const read = (name: string): Promise<string> => {
    const text = cache.get(name) ?? load(name);
    cache.set(name, text); // before it is read: hundreds of callers request the same text at once
    return text;
  };
  const has = (name: string): boolean => findFile(roots, `queries/${name}.sql`) !== undefined;
  return { has, read, roots, render: async (name, parts) => fillTemplate(name, await read(name), parts) };
}

function fillTemplate(name: string, template: string, parts: Readonly<Record<string, string>>): string {
  return stripComments(template).replaceAll(/\{\{(\w+)\}\}/gu, (_, part: string) => {
    const value = parts[part];
    if (value === undefined) throw new TidemarkError('DATA', `queries/${name}.sql: {{${part}}} has no value`);
    return value;
  });
}

/** Comments mention `{{parts}}` to explain them. */
function stripComments(sql: string): string {
  return sql.replaceAll(/^\s*--.*$/gmu, '');
}

export function quoteIdent(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

export function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Reads the `-- key: value` lines at the top of a SQL file. */
export function parseHeader(sql: string): Readonly<Record<string, string>> {
  const header: Record<string, string> = {};
  for (const line of sql.split('\n')) {
    const match = /^--\s*([a-z_]+):\s*(.*\S)\s*$/u.exec(line);
    if (match?.[1] && match[2]) header[match[1]] = match[2];
    else if (!line.startsWith('--') && line.trim() !== '') break;
  }
  return header;
}
