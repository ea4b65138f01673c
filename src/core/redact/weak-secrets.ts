import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../paths.ts';

/** Shorter secrets are parts of ordinary words. */
const MIN_SECRET_LENGTH = 8;

/** Why a secret cannot be masked wherever it appears without damage to other text; undefined if it can. */
export function secretWeakness(secret: string): string | undefined {
  if (secret.length < MIN_SECRET_LENGTH) return `is shorter than ${MIN_SECRET_LENGTH} characters`;
  return isOwnWord(secret) ? "is a word of Tidemark's own" : undefined;
}

/** Whether a secret is the name of a table, source or column, or a part of one. */
function isOwnWord(secret: string): boolean {
  if (!/^[a-z][a-z0-9_]*$/u.test(secret)) return false;
  ownWords ??= readOwnWords();
  return ownWords.some((word) => word.includes(secret));
}

let ownWords: readonly string[] | undefined;

/** The names of the tables, which are those of the sources as well, and of their columns. */
function readOwnWords(): readonly string[] {
  const folder = join(PACKAGE_ROOT, 'queries', 'tables');
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql'));
  const columns = files.flatMap((file) =>
    [...readFileSync(join(folder, file), 'utf8').matchAll(/^ {2}(\w+) /gmu)].map(([, column = '']) => column),
  );
  return [...new Set([...files.map((file) => file.slice(0, -'.sql'.length)), ...columns])];
}
