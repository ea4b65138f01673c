import { basename, dirname } from 'node:path';
import { type Document, isNode, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { readNamedFile } from '../core/fs.ts';
import { explainIssue } from './explain-issue.ts';
import { type Environment, interpolate, type Path } from './references.ts';
import { suggestName } from './suggest.ts';

interface YamlFile {
  /** What messages call the file. @default its name */
  readonly name?: string;
  /** What to do where it cannot be read. */
  readonly hint?: string;
  /** As for `readNamedFile`. */
  readonly maxKibibytes?: number;
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
  { name = basename(file), hint, maxKibibytes, env, isOptional }: YamlFile = {},
): T {
  const lines = new LineCounter();
  const document = parseDocument(readNamedFile(file, { code: 'CONFIG', hint, ...(maxKibibytes && { maxKibibytes }) }), {
    lineCounter: lines,
    prettyErrors: false,
  });
  // The text behind a tag that is not known, such as `!vault`, is not the value that it stands for.
  const [syntax = document.warnings.find(({ code }) => code === 'TAG_RESOLVE_FAILED')] = document.errors;
  if (syntax) {
    const { line } = lines.linePos(syntax.pos[0]);
    const message = syntax.code === 'MULTIPLE_DOCS' ? 'a second document begins here' : syntax.message;
    throw new TidemarkError('CONFIG', `${name}:${line}: not valid YAML: ${message}`);
  }
  // A reference that cannot be resolved leaves a field that is also invalid: the first issue of a field is enough.
  const issues = new Map<string, { readonly line: number; readonly text: string } | undefined>();
  const report = (path: Path, message: string) => {
    const field = z.core.toDotPath(path);
    if (issues.has(field)) return;
    const text = field === '' ? message : `${field}: ${message}`;
    issues.set(field, issues.size < MAX_ISSUES ? { line: findLine(document, lines, path), text } : undefined);
  };
  const plain = toPlainData(document, name) ?? {};
  const interpolated =
    env === undefined ? plain : interpolate(plain, { env, directory: dirname(file), isOptional }, report);
  const { success, data, error } = schema.safeParse(interpolated, { error: explain });
  for (const issue of error?.issues ?? []) reportIssue(issue, report);
  if (success && issues.size === 0) return data;
  const shown = [...issues.values()].filter((issue) => issue !== undefined).sort((a, b) => a.line - b.line);
  const more = issues.size > shown.length ? [`${name}: and ${issues.size - shown.length} more`] : [];
  throw new TidemarkError('CONFIG', [...shown.map(({ line, text }) => `${name}:${line}: ${text}`), ...more].join('\n'));
}

/** More lines than a person reads; to find the lines of thousands takes minutes. */
const MAX_ISSUES = 100;

/** The content of a YAML file that `readYamlFile` has accepted, with its references as they are written. */
export function readPlainYaml(file: string, options: Pick<YamlFile, 'maxKibibytes'> = {}): unknown {
  return toPlainData(parseDocument(readNamedFile(file, { code: 'CONFIG', ...options })), basename(file));
}

/** A configuration of 500 targets may share a few anchors; far more copies than this exhaust memory. */
const MAX_ALIASES = 10_000;

function toPlainData(document: Document, name: string): unknown {
  try {
    const data: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    JSON.stringify(data); // throws where an alias is a part of what it stands for
    return data;
  } catch (error) {
    throw new TidemarkError('CONFIG', `${name}: an alias cannot be resolved: ${errorMessage(error).split('\n', 1)[0]}`);
  }
}

/** A line for each unknown key of an object, and for what else is wrong one. */
function explain(issue: z.core.$ZodRawIssue): string | undefined {
  const { code, keys, inst } = issue;
  if (code !== 'unrecognized_keys' || !(inst instanceof z.ZodObject)) return explainIssue(issue);
  const allowed = Object.keys(inst.shape);
  return (keys as readonly string[]).map((key) => `unknown key; ${suggestName(key, allowed)}`).join('\n');
}

function reportIssue(issue: z.core.$ZodIssue, report: (path: Path, message: string) => void): void {
  const { path, message } = issue;
  if (issue.code !== 'unrecognized_keys') report(path, message);
  else for (const [index, line] of message.split('\n').entries()) report([...path, issue.keys[index] ?? ''], line);
}

/** The line of the field, or of the closest field around it that is in the file. */
function findLine(document: Document, lines: LineCounter, path: Path): number {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}
