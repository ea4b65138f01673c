import { readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { type Document, isNode, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { closestMatch } from './suggest.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Path = readonly PropertyKey[];

/** One error in a file: the field, and what is wrong as the end of a sentence. */
export interface ValidationIssue {
  readonly path: Path;
  readonly message: string;
}

/**
 * Reads a YAML file, interpolates it and validates it against a schema. `refine` validates what a schema cannot express; it
 * receives the document whatever its shape.
 * @throws TidemarkError CONFIG with one line per issue: `file:line: field: what is wrong`.
 */
export function readYamlFile<T>(
  file: string,
  schema: z.ZodType<T>,
  env: Environment,
  allowedKeys: (path: Path) => readonly string[],
  refine: (document: unknown) => readonly ValidationIssue[] = () => [],
  isOptional: (path: Path) => boolean = () => false,
): T {
  const lines = new LineCounter();
  const document = parseDocument(readText(file), { lineCounter: lines, prettyErrors: false });
  const [syntax] = document.errors;
  if (syntax) {
    const { line } = lines.linePos(syntax.pos[0]);
    throw new TidemarkError('CONFIG', `${basename(file)}:${line}: not valid YAML: ${syntax.message}`);
  }
  const issues: ValidationIssue[] = [];
  const interpolated = interpolate(
    toPlainData(document, file) ?? {},
    { env, directory: dirname(file), isOptional },
    (path, message) => issues.push({ path, message }),
  );
  const result = schema.safeParse(interpolated);
  if (!result.success) issues.push(...result.error.issues.flatMap((issue) => toIssues(issue, allowedKeys)));
  issues.push(...refine(interpolated));
  if (result.success && issues.length === 0) return result.data;
  const located = firstIssueOfEachField(issues).map((issue) => ({
    issue,
    line: findLine(document, lines, issue.path),
  }));
  const messages = located.sort((a, b) => a.line - b.line).map(({ issue, line }) => formatIssue(file, line, issue));
  throw new TidemarkError('CONFIG', messages.join('\n'));
}

/** The content of a YAML file that `readYamlFile` has accepted, with its references as they are written. */
export function readPlainYaml(file: string): unknown {
  return toPlainData(parseDocument(readText(file)), file);
}

/** A configuration of 500 targets may share a few anchors; far more copies than this exhaust memory. */
const MAX_ALIASES = 10_000;

function toPlainData(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    throw new TidemarkError('CONFIG', `${basename(file)}: an alias cannot be resolved: ${errorMessage(error)}`);
  }
}

/** A reference that cannot be resolved leaves a field that is also invalid: the first issue of a field is enough. */
function firstIssueOfEachField(issues: readonly ValidationIssue[]): readonly ValidationIssue[] {
  const first = new Map<string, ValidationIssue>();
  for (const issue of issues) {
    const field = issue.path.join('.');
    if (!first.has(field)) first.set(field, issue);
  }
  return [...first.values()];
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

function toIssues(issue: z.core.$ZodIssue, allowedKeys: (path: Path) => readonly string[]): ValidationIssue[] {
  if (issue.code !== 'unrecognized_keys') return [{ path: issue.path, message: issue.message }];
  return issue.keys.map((key) => ({ path: [...issue.path, key], message: unknownKey(key, allowedKeys(issue.path)) }));
}

function unknownKey(key: string, allowed: readonly string[]): string {
  const closest = closestMatch(key, allowed);
  return `unknown key${closest ? `; did you mean \`${closest}\`?` : `; known are ${allowed.join(', ')}`}`;
}

function formatIssue(file: string, line: number, { path, message }: ValidationIssue): string {
  const field = path.reduce<string>(
    (text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : text === '' ? String(part) : `${text}.${String(part)}`,
    '',
  );
  return `${basename(file)}:${line}: ${field === '' ? '' : `${field}: `}${message}`;
}

/** The line of the field, or of the closest field around it that is in the file. */
function findLine(document: Document, lines: LineCounter, path: Path): number {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}

interface InterpolationContext {
  readonly env: Environment;
  /** Directory of relative `${file:…}` paths. */
  readonly directory: string;
  /** Whether a reference in the field need not resolve; it then becomes `UNSET`. */
  readonly isOptional: (path: Path) => boolean;
}

/** A value that no secret has, in place of a reference that need not resolve. */
const UNSET = 'tidemark-reference-without-a-value';

const REFERENCE = /\$\{([^}]*)\}/gu;

/**
 * Replaces `${NAME}` from the environment and `${file:PATH}` from a file (without its trailing newline) in every string of a
 * parsed document. A reference that cannot be resolved is reported with the path of its field and becomes empty.
 */
function interpolate(
  value: unknown,
  context: InterpolationContext,
  report: (path: Path, message: string) => void,
  path: Path = [],
): unknown {
  if (typeof value === 'string') {
    return value.replaceAll(REFERENCE, (_, reference: string) => {
      const { text, error } = resolveReference(reference, context);
      if (error !== undefined && context.isOptional(path)) return UNSET;
      if (error !== undefined) report(path, error);
      return text;
    });
  }
  if (Array.isArray(value)) return value.map((item, index) => interpolate(item, context, report, [...path, index]));
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([key, inner]) => [
    key,
    interpolate(inner, context, report, [...path, key]),
  ]);
  return Object.fromEntries(entries);
}

interface Resolution {
  readonly text: string;
  readonly error?: string;
}

function resolveReference(reference: string, { env, directory }: InterpolationContext): Resolution {
  if (reference.startsWith('file:')) {
    const file = resolve(directory, reference.slice('file:'.length));
    try {
      return { text: readFileSync(file, 'utf8').replace(/\r?\n$/u, '') };
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : 'cannot be read';
      return { text: '', error: `\${${reference}}: the file ${reason}` };
    }
  }
  const value = env[reference];
  if (value) return { text: value };
  const state = value === undefined ? 'not set' : 'empty';
  return {
    text: '',
    error: `the environment variable ${reference} is ${state}; export it, or set it in .env beside the file`,
  };
}

/**
 * The environment, with the variables of the file `.env` beside the configuration that it does not have.
 * @throws TidemarkError CONFIG if the file cannot be read
 */
export function withEnvFile(directory: string, env: Environment): Environment {
  const file = join(directory, '.env');
  try {
    return { ...parseEnv(readFileSync(file, 'utf8').replace(/^\ufeff/u, '')), ...env };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return env;
    throw new TidemarkError('CONFIG', `${file} cannot be read: ${errorMessage(error)}`, { cause: error });
  }
}
