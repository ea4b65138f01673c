import { readFile } from 'node:fs/promises';
import { TidemarkError } from '../core/errors.ts';
import { findFile } from '../core/paths.ts';

/** SQL text from `queries/`, by path without `.sql`; a file beside the configuration goes before the package's. */
export interface SqlFiles {
  read(name: string): Promise<string>;
  /** The text with `{{name}}` replaced: identifiers and lists of them, which cannot be bound. */
  render(name: string, parts: Readonly<Record<string, string>>): Promise<string>;
  readonly roots: readonly string[];
}

export function createSqlFiles(roots: readonly string[]): SqlFiles {
  const reads = new Map<string, Promise<string>>();
  const read = async (name: string): Promise<string> => {
    const path = findFile(roots, `queries/${name}.sql`);
    if (!path) throw new TidemarkError('DATA', `queries/${name}.sql does not exist`);
    return readFile(path, 'utf8');
  };
  const text = (name: string): Promise<string> => {
    const known = reads.get(name) ?? read(name);
    reads.set(name, known); // at once: hundreds ask for the same text at the same time
    return known;
  };
  return { read, roots, render: async (name, parts) => fill(name, await text(name), parts) };
}

function fill(name: string, template: string, parts: Readonly<Record<string, string>>): string {
  return stripComments(template).replaceAll(/\{\{(\w+)\}\}/gu, (_, part: string) => {
    const value = parts[part];
    if (value === undefined) throw new TidemarkError('DATA', `queries/${name}.sql: nothing is known as {{${part}}}`);
    return value;
  });
}

/** Comment lines may speak of `{{parts}}` without meaning them. */
function stripComments(sql: string): string {
  return sql.replaceAll(/^\s*--.*$/gmu, '');
}

/** An identifier as SQL takes it, whatever it holds. */
export function quoteIdent(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

/** A string literal as SQL takes it. */
export function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** `-- key: value` lines at the head of a SQL file. */
export function parseHeader(sql: string): Readonly<Record<string, string>> {
  const header: Record<string, string> = {};
  for (const line of sql.split('\n')) {
    const match = /^--\s*([a-z_]+):\s*(.*\S)\s*$/u.exec(line);
    if (match?.[1] && match[2]) header[match[1]] = match[2];
    else if (!line.startsWith('--') && line.trim() !== '') break;
  }
  return header;
}
