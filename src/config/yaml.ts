import { basename, dirname } from 'node:path';
import { type Document, isNode, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { readNamedFile } from '../core/fs.ts';
import { type Environment, interpolate, type Path } from './references.ts';
import { closestMatch } from './suggest.ts';

/** One error in a file: the field, and what is wrong as the end of a sentence. */
interface ValidationIssue {
  readonly path: Path;
  readonly message: string;
}

interface YamlFile {
  /** What messages call the file. @default its name */
  readonly name?: string;
  /** What to do where it cannot be read. */
  readonly hint?: string;
  /** Of the references; without it, the file has none. */
  readonly env?: Environment;
  /** Whether a reference in a field need not resolve. @default none */
  readonly isOptional?: (path: Path) => boolean;
}

/**
 * Reads a YAML file, interpolates it and validates it against a schema.
 * @throws TidemarkError CONFIG with one line per issue: `file:line: field: what is wrong`.
 */
export function readYamlFile<T>(
  file: string,
  schema: z.ZodType<T>,
  { name = basename(file), hint, env, isOptional = () => false }: YamlFile = {},
): T {
  const lines = new LineCounter();
  const document = parseDocument(readNamedFile(file, { code: 'CONFIG', hint }), {
    lineCounter: lines,
    prettyErrors: false,
  });
  const [syntax] = document.errors;
  if (syntax) {
    const { line } = lines.linePos(syntax.pos[0]);
    throw new TidemarkError('CONFIG', `${name}:${line}: not valid YAML: ${syntax.message}`);
  }
  const issues: ValidationIssue[] = [];
  const plain = toPlainData(document, name) ?? {};
  const report = (path: Path, message: string) => issues.push({ path, message });
  const interpolated =
    env === undefined ? plain : interpolate(plain, { env, directory: dirname(file), isOptional }, report);
  const result = schema.safeParse(interpolated, { error: explainUnknownKeys });
  issues.push(...(result.error?.issues.flatMap(toIssues) ?? []));
  if (result.success && issues.length === 0) return result.data;
  const located = firstIssueOfEachField(issues).map((issue) => ({
    issue,
    line: findLine(document, lines, issue.path),
  }));
  const messages = located.sort((a, b) => a.line - b.line).map(({ issue, line }) => formatIssue(name, line, issue));
  throw new TidemarkError('CONFIG', messages.join('\n'));
}

/** The content of a YAML file that `readYamlFile` has accepted, with its references as they are written. */
export function readPlainYaml(file: string): unknown {
  return toPlainData(parseDocument(readNamedFile(file, { code: 'CONFIG' })), basename(file));
}

/** A configuration of 500 targets may share a few anchors; far more copies than this exhaust memory. */
const MAX_ALIASES = 10_000;

function toPlainData(document: Document, name: string): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    throw new TidemarkError('CONFIG', `${name}: an alias cannot be resolved: ${errorMessage(error)}`);
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

/** A line for each unknown key of an object. */
function explainUnknownKeys({ code, keys, inst }: z.core.$ZodRawIssue): string | undefined {
  if (code !== 'unrecognized_keys' || !(inst instanceof z.ZodObject)) return undefined;
  const allowed = Object.keys(inst.shape);
  return (keys as readonly string[])
    .map((key) => {
      const closest = closestMatch(key, allowed);
      return `unknown key${closest ? `; did you mean \`${closest}\`?` : `; known are ${allowed.join(', ')}`}`;
    })
    .join('\n');
}

function toIssues(issue: z.core.$ZodIssue): readonly ValidationIssue[] {
  const { path, message } = issue;
  if (issue.code !== 'unrecognized_keys') return [{ path, message }];
  return message.split('\n').map((line, index) => ({ path: [...path, issue.keys[index] ?? ''], message: line }));
}

function formatIssue(name: string, line: number, { path, message }: ValidationIssue): string {
  const field = path.reduce<string>(
    (text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : text === '' ? String(part) : `${text}.${String(part)}`,
    '',
  );
  return `${name}:${line}: ${field === '' ? '' : `${field}: `}${message}`;
}

/** The line of the field, or of the closest field around it that is in the file. */
function findLine(document: Document, lines: LineCounter, path: Path): number {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}
