import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { distance } from 'fastest-levenshtein';
import { type Document, isNode, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { interpolate } from './interpolate.ts';

/** One thing wrong with a file: the field it stands at and what to do. */
export interface ValidationIssue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/**
 * Reads, interpolates and checks a YAML file against a schema, and by `meaning`, which is handed the document whatever its shape.
 * @throws TidemarkError CONFIG with one line a problem: `file:line: field: what, what to do`.
 */
export function readYamlFile<T>(
  file: string,
  schema: z.ZodType<T>,
  env: Readonly<Record<string, string | undefined>>,
  allowedKeys: (path: readonly PropertyKey[]) => readonly string[],
  refine: (document: unknown) => readonly ValidationIssue[] = () => [],
): T {
  const lines = new LineCounter();
  const document = parseDocument(readText(file), { lineCounter: lines, prettyErrors: false });
  const refuse = (problems: readonly ValidationIssue[]): never => {
    const told = problems.map((problem) => ({ ...problem, line: findLine(document, lines, problem.path) }));
    const inOrder = told.sort((a, b) => a.line - b.line).map((problem) => formatIssue(file, problem));
    throw new TidemarkError('CONFIG', inOrder.join('\n'));
  };
  const [syntax] = document.errors;
  if (syntax) {
    const { line } = lines.linePos(syntax.pos[0]);
    throw new TidemarkError('CONFIG', `${basename(file)}:${line}: not valid YAML: ${syntax.message}`);
  }

  const problems: ValidationIssue[] = [];
  const filled = interpolate(document.toJS() ?? {}, { env, directory: dirname(file) }, (path, message) =>
    problems.push({ path, message }),
  );
  const result = schema.safeParse(filled);
  if (!result.success) problems.push(...result.error.issues.flatMap((issue) => toIssues(issue, allowedKeys)));
  problems.push(...refine(filled));
  if (!result.success || problems.length > 0) return refuse(firstIssueOfEachField(problems));
  return result.data;
}

/** What could not be filled in is also of the wrong shape and means nothing: the first word about a field is enough. */
function firstIssueOfEachField(problems: readonly ValidationIssue[]): readonly ValidationIssue[] {
  const told = new Map<string, ValidationIssue>();
  for (const problem of problems) {
    const field = problem.path.join('.');
    if (!told.has(field)) told.set(field, problem);
  }
  return [...told.values()];
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw new TidemarkError('CONFIG', `${file} cannot be read: ${errorMessage(error)}`, { cause: error });
    }
    throw new TidemarkError('CONFIG', `${file} does not exist`, {
      hint: 'write one with `tidemark init`, or name one with --config FILE',
    });
  }
}

function toIssues(
  issue: z.core.$ZodIssue,
  knownKeys: (path: readonly PropertyKey[]) => readonly string[],
): ValidationIssue[] {
  if (issue.code !== 'unrecognized_keys') return [{ path: issue.path, message: issue.message }];
  return issue.keys.map((key) => ({ path: [...issue.path, key], message: unknownKey(key, knownKeys(issue.path)) }));
}

function unknownKey(key: string, known: readonly string[]): string {
  const nearest = closestMatch(key, known);
  return `unknown key${nearest ? `; did you mean \`${nearest}\`?` : `; known are ${known.join(', ')}`}`;
}

/** The known name nearest to a mistyped one, if any is near enough to be meant. */
export function closestMatch(name: string, known: Iterable<string>): string | undefined {
  const lower = name.toLowerCase();
  const ranked = [...known].map((candidate) => ({ candidate, far: distance(lower, candidate.toLowerCase()) }));
  const [best] = ranked.sort((a, b) => a.far - b.far);
  return best && best.far <= Math.max(2, Math.ceil(name.length / 2)) ? best.candidate : undefined;
}

function formatIssue(file: string, { path, message, line }: ValidationIssue & { readonly line: number }): string {
  const field = path.reduce<string>(
    (text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : text === '' ? String(part) : `${text}.${String(part)}`,
    '',
  );
  return `${basename(file)}:${line}: ${field === '' ? '' : `${field}: `}${message}`;
}

/** The line of the field, or of the nearest field around it that stands in the file. */
function findLine(document: Document, lines: LineCounter, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}
