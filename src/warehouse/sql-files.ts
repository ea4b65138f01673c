import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isMisspelt, suggestName } from '../config/suggest.ts';
import { TidemarkError } from '../core/errors.ts';
import { REGULAR_FILE, readNamedFile } from '../core/fs.ts';
import { findFile, PACKAGE_ROOT } from '../core/paths.ts';

/** A part of a template: a text, or what gives one for the words after the name, such as `{{key n}}`. */
export type SqlParts = Readonly<Record<string, string | ((...words: string[]) => string)>>;

export type SqlFiles = Readonly<ReturnType<typeof createSqlFiles>>;

/** SQL text from `queries/`, by path without `.sql`. A file beside the configuration overrides the package's. */
export function createSqlFiles(roots: readonly string[]) {
  const cache = new Map<string, string>();
  const find = (name: string) => findFile(roots, `queries/${name}.sql`);
  const packaged = (name: string) => join(PACKAGE_ROOT, `queries/${name}.sql`);
  const load = (name: string): string => {
    const path = find(name);
    if (!path) throw new TidemarkError('DATA', `queries/${name}.sql does not exist`);
    return readNamedFile(path, { code: 'DATA', ...REGULAR_FILE });
  };
  const read = (name: string): string => {
    const text = cache.get(name) ?? load(name);
    cache.set(name, text);
    return text;
  };
  return {
    has: (name: string) => find(name) !== undefined,
    read,
    roots,
    /** The text with each `{{name}}` replaced, comments removed: for identifiers, which cannot be bound as parameters. */
    render: (name: string, parts: SqlParts) => fillTemplate(name, read(name), parts),
    /** What was read so far of a user's tables, and of the user's files that override those of the package. */
    own: () =>
      [...cache.keys()].filter(
        (name) => find(name) !== packaged(name) && (name.startsWith('tables/') || existsSync(packaged(name))),
      ),
  };
}

function fillTemplate(name: string, template: string, parts: SqlParts): string {
  const statements = template.replaceAll(/^\s*--.*$/gmu, ''); // comments mention `{{parts}}` to explain them
  return statements.replaceAll(/\{\{(\w+)((?: \w+)*)\}\}/gu, (_, part: string, words: string) => {
    const value = parts[part];
    if (value === undefined) throw new TidemarkError('DATA', `queries/${name}.sql: {{${part}}} has no value`);
    return typeof value === 'string' ? value : value(...words.trim().split(' '));
  });
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

/** Names a line that is misspelt: it would be ignored without a word. Others that are not known are for readers. */
export function findHeaderFault(sql: string, known: readonly string[]): string | undefined {
  const keys = Object.keys(parseHeader(sql)).filter((key) => !known.includes(key));
  const found = keys.find((key) => isMisspelt(key, known));
  if (found === undefined) return undefined;
  return `unknown header line \`-- ${found}: …\`: ${suggestName(found, known)}`;
}

/** The header of a file that may have these lines. @throws TidemarkError DATA for what `findHeaderFault` finds */
export function readHeader(name: string, sql: string, known: readonly string[]): ReturnType<typeof parseHeader> {
  const fault = findHeaderFault(sql, known);
  if (fault) throw new TidemarkError('DATA', `queries/${name}.sql: ${fault}`);
  return parseHeader(sql);
}

/** What a line names and nothing has is never found, and looks clean. @throws TidemarkError DATA, where `what` ends the sentence */
export function refuseUnknown(
  file: string,
  line: string,
  named: readonly string[],
  known: Iterable<string>,
  what: string,
) {
  const names = new Set(known);
  const unknown = named.find((one) => !names.has(one));
  if (unknown === undefined) return;
  throw new TidemarkError(
    'DATA',
    `queries/${file}.sql: the header line \`-- ${line}: …\` names ${unknown}, which ${what}: ${suggestName(unknown, names)}`,
  );
}

/** The number of a line; `otherwise` where it is absent or no number. */
export function readNumber(text: string | undefined, otherwise: number): number {
  return Number.isNaN(Number(text)) ? otherwise : Number(text);
}

/** `a, b`, as a header or a template writes it. */
export function splitList(text: string | undefined): readonly string[] {
  return text?.split(/\s*,\s*/u).filter(Boolean) ?? [];
}
