import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Format } from '../core/choices.ts';
import type { Context } from '../core/context.ts';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { overlayRoots } from '../core/paths.ts';
import { plural } from '../core/plural.ts';
import { formatForFile, isTextFormat, KNOWN_EXTENSIONS, TEXT_FORMATS } from '../query/formats.ts';
import { replaceFile } from '../query/output-file.ts';
import { findSavedQuery, loadSavedQueries, resolveParameters, type SavedQuery } from '../query/saved.ts';
import { type PreparedQuery, QuerySession } from '../query/session.ts';
import { type Screen, writeLines, writeTable } from '../query/write-table.ts';
import { appendText, copyParquet, copyText, type WriteText, writeText } from '../query/write-text.ts';
import { writeXlsx } from '../query/write-xlsx.ts';
import { parseParam } from './definitions/define.ts';
import { parseTimestampOption, readLocalConfig } from './options.ts';
import { formatTable, writeResult } from './output.ts';
import { writeToPager } from './pager.ts';

export interface SqlFlags {
  readonly file?: string;
  readonly param: Readonly<Record<string, string>>;
  readonly asOf?: string;
  readonly format?: Format;
  readonly output?: string;
  readonly timeout?: number;
  readonly maxRows?: number;
  readonly saved?: string;
  readonly list?: boolean;
}

/** One query and where its result goes. */
interface Request {
  readonly config: Config;
  readonly query: string;
  readonly saved: SavedQuery | undefined;
  readonly asOf: Date | undefined;
  readonly format: Format;
  readonly flags: SqlFlags;
}

/** `words` are the query, or with `--saved` the parameters as `NAME=VALUE`. */
export async function sql(context: Context, words: readonly string[], flags: SqlFlags): Promise<void> {
  const config = readLocalConfig(context);
  const savedQueries = await loadSavedQueries(overlayRoots(config.directory));
  if (flags.list) return listSavedQueries(context, savedQueries);
  const format = selectFormat(context, flags);
  const asOf = flags.asOf === undefined ? undefined : parseTimestampOption('--as-of', flags.asOf);
  const saved = flags.saved === undefined ? undefined : findSavedQuery(savedQueries, flags.saved);
  const request = saved
    ? { config, query: saved.sql, saved, asOf, format, flags: withParameters(flags, words) }
    : { config, query: await readQuery(context, words, flags.file), saved, asOf, format, flags };
  try {
    if (flags.output === undefined) await printResult(context, request);
    else await writeResultFile(context, request, resolve(context.cwd, flags.output));
  } catch (error) {
    if (context.signal.aborted) throw new TidemarkError('INTERRUPTED', errorMessage(context.signal.reason));
    throw error;
  }
}

/** @throws TidemarkError USAGE if the result cannot be written so. */
function selectFormat(context: Context, { format, output }: SqlFlags): Format {
  const given = format ?? (context.json ? 'json' : undefined);
  if (output === undefined) {
    if (given !== 'parquet' && given !== 'xlsx') return given ?? 'table';
    throw new TidemarkError('USAGE', `--format ${given} writes to a file`, { hint: 'add -o FILE' });
  }
  const selected = given ?? formatForFile(output);
  if (selected === undefined) {
    throw new TidemarkError('USAGE', `the name ${output} tells no format`, {
      hint: `end it with one of ${KNOWN_EXTENSIONS}, or give --format`,
    });
  }
  const folder = dirname(resolve(context.cwd, output));
  if (!existsSync(folder)) throw new TidemarkError('USAGE', `-o ${output}: folder ${folder} does not exist`);
  return selected;
}

async function writeResultFile(context: Context, request: Request, path: string): Promise<void> {
  const count = await replaceFile(path, (output) =>
    withQuery(context, request, output, (session, query) => writeToFile(session, query, request.format)),
  );
  context.log.info(`wrote ${plural(count, 'row')} to ${path}`);
}

async function writeToFile(session: QuerySession, query: PreparedQuery, format: Format): Promise<number> {
  if (isTextFormat(format)) return copyText(session, query, TEXT_FORMATS[format]);
  if (format === 'parquet') return copyParquet(session, query);
  if (format === 'xlsx') return writeXlsx(session, query);
  return appendText(session.output, (write) => (format === 'line' ? writeLines : writeTable)(session, query, write));
}

async function printResult(context: Context, request: Request): Promise<void> {
  const { format, flags } = request;
  const screen = selectScreen(context, flags.maxRows);
  const print = (write: WriteText) =>
    withQuery(context, request, undefined, async (session, query) => {
      if (isTextFormat(format)) return writeText(session, query, TEXT_FORMATS[format], write);
      return (format === 'line' ? writeLines : writeTable)(session, query, write, screen);
    });
  const isLong = format !== 'table' || screen?.maxRows === Number.POSITIVE_INFINITY;
  if (context.stdoutIsTerminal && isLong) await writeToPager(context, print);
  else await print(context.print);
}

const DEFAULT_MAX_ROWS = 40;

/** A terminal shows the first and last rows; elsewhere every row is written unless `--max-rows` says otherwise. */
function selectScreen({ screen, colors }: Context, maxRows: number | undefined): Screen | undefined {
  if (screen === undefined && maxRows === undefined) return undefined;
  const rows = maxRows ?? DEFAULT_MAX_ROWS;
  return {
    width: screen?.columns ?? Number.POSITIVE_INFINITY,
    maxRows: rows === 0 ? Number.POSITIVE_INFINITY : rows,
    colors,
  };
}

async function withQuery<T>(
  { signal }: Context,
  { config, query, saved, asOf, flags }: Request,
  output: string | undefined,
  work: (session: QuerySession, query: PreparedQuery) => Promise<T>,
): Promise<T> {
  const session = await QuerySession.open({
    config,
    signal,
    ...(asOf && { asOf }),
    ...(output !== undefined && { output }),
    ...(flags.timeout !== undefined && { limits: { timeoutSeconds: flags.timeout } }),
  });
  try {
    const params = saved ? await resolveParameters(saved, flags.param, session) : flags.param;
    return await work(session, await session.prepare(query, params));
  } finally {
    await session.close();
  }
}

/** With `--saved`, the words are parameters, as `--param` gives them. */
function withParameters(flags: SqlFlags, words: readonly string[]): SqlFlags {
  if (flags.file !== undefined) throw new TidemarkError('USAGE', 'give --saved NAME or -f FILE, not both');
  return { ...flags, param: words.reduce((params, word) => parseParam(word, params), flags.param) };
}

function listSavedQueries(context: Context, queries: ReadonlyMap<string, SavedQuery>): void {
  const list = [...queries.values()];
  writeResult(context, list, () =>
    formatTable(
      ['query', 'title', 'parameters'],
      list.map(({ name, title, parameters }) => [
        name,
        title,
        parameters.map((parameter) => parameter.name).join(', '),
      ]),
      context,
    ),
  );
}

async function readQuery(context: Context, words: readonly string[], file: string | undefined): Promise<string> {
  const text = await readQueryText(context, words, file);
  if (text.trim() === '') throw new TidemarkError('DATA', 'the query is empty');
  return text;
}

async function readQueryText(context: Context, words: readonly string[], file: string | undefined): Promise<string> {
  const [query, ...rest] = words;
  if (rest.length > 0) throw new TidemarkError('USAGE', 'give the query as one argument, in quotes');
  if (query !== undefined && file !== undefined) throw new TidemarkError('USAGE', 'give a query or -f FILE, not both');
  if (query !== undefined) return query;
  if (file === undefined && context.stdinIsTerminal)
    throw new TidemarkError('USAGE', 'no query given', { hint: 'try: tidemark sql "from workspaces"' });
  if (file === undefined || file === '-') return context.readStdin();
  return readFile(resolve(context.cwd, file), 'utf8').catch((error: unknown) => {
    throw new TidemarkError('USAGE', `${file} cannot be read: ${errorMessage(error)}`, { cause: error });
  });
}
