import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { parseJson } from '../http/json.ts';
import type { Args, Operation } from '../services/operation.ts';

/** `name=value` words as arguments; a name that stands more than once becomes a list. */
export function readArgs({ name: operation, params }: Operation, words: readonly string[]): Args {
  const values = new Map<string, string[]>();
  for (const word of words) {
    const at = nameEnd(word);
    if (at <= 0) {
      throw new TidemarkError('USAGE', `${operation}: \`${word}\` is not name=value`, {
        hint: `parameters are ${Object.keys(params).join(', ') || 'none'}`,
      });
    }
    const name = word.slice(0, at);
    values.set(name, [...(values.get(name) ?? []), word.slice(at + 1)]);
  }
  return Object.fromEntries([...values].map(([name, list]) => [name, list.length === 1 ? list[0] : list]));
}

/** The `=` after the name: names such as `filter[0][f][is][0]` hold none. */
function nameEnd(word: string): number {
  return word.indexOf('=');
}

/** `--body`: JSON, `@FILE`, or `-` for standard input; 64-bit integers keep their digits. The text is in no message. */
export async function readBody(given: string | undefined, { cwd, readStdin }: Context): Promise<unknown> {
  if (given === undefined) return undefined;
  const text =
    given === '-' ? await readStdin() : given.startsWith('@') ? readFile(resolve(cwd, given.slice(1))) : given;
  try {
    return parseJson(text.replace(/^\uFEFF/u, ''));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new TidemarkError('USAGE', '--body is not valid JSON', { hint: 'give JSON, @FILE, or - for standard input' });
  }
}

function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new TidemarkError('USAGE', `--body: ${file} cannot be read`, { cause, hint: 'name a readable file after @' });
  }
}
