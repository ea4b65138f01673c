import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync } from 'node:fs';
import { delimiter, dirname, extname, join, resolve } from 'node:path';
import { type QueryRequest, queryConfig, type WriteText } from '../ask/query/protocol.ts';
import { QueryProcess } from '../ask/query/query-process.ts';
import { fillSavedQuery, findSavedQuery, loadSavedQueries } from '../ask/query/saved.ts';
import { FORMATS, type Format } from '../core/choices.ts';
import { type Context, ignoreReaderGone, ReaderGone } from '../core/context.ts';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { PRIVATE_FILE, readNamedFile, replaceFile } from '../core/fs.ts';
import { overlayRoots } from '../core/paths.ts';
import { plural } from '../core/plural.ts';
import { type DefineCommand, MOMENT, parseParam, type Switches, seconds, type Texts, wholeNumber } from './define.ts';
import { readLocalConfig, readPublishedMoment } from './options.ts';
import { guardTerminal, listSavedQueries, resolveOutput, selectScreen } from './output.ts';
import { runShell, type ShellSettings } from './shell.ts';

export const define: DefineCommand = (command) => {
  const parse = command.parseOptions.bind(command);
  // A query may begin with a comment, which is no option.
  command.parseOptions = (words) => parse(words.map((word) => (/^--\s/u.test(word) ? ` ${word}` : word)));
  command
    .argument('[words...]', 'one SELECT statement in quotes; with --saved, NAME=VALUE of its parameters')
    .option('-f, --file <file>', 'read the query from a file; - for stdin')
    .option('--saved <name>', 'run a saved query')
    .option('--list', 'list the saved queries')
    .option('--param <name=value>', 'value of $name in the query; repeatable', parseParam)
    .option('--as-of <moment>', `show every table as of ${MOMENT}`)
    .choice('--format <format>', 'output format', FORMATS)
    .option('-o, --output <file>', 'write the result to a file; its extension is the format')
    .option('--max-rows <n>', 'rows of a table: of more, the first and last; 0 for all (40 on a terminal)', wholeNumber)
    .option('--timeout <seconds>', 'stop the query after this time (`sql.timeout`)', seconds)
    .runs(() => import('./sql.ts'), 'sql');
};

interface SqlFlags extends ShellSettings, Texts<'file' | 'output' | 'saved'>, Switches<'list'> {
  readonly param?: Readonly<Record<string, string>>;
}

/** `words` are the query, or with `--saved` the parameters as `NAME=VALUE`. */
export async function sql(context: Context, words: readonly string[], flags: SqlFlags): Promise<void> {
  const config = readLocalConfig(context);
  const savedQueries = loadSavedQueries(overlayRoots(config.directory));
  if (flags.list) return listSavedQueries(context, savedQueries);
  const queries = new QueryProcess(queryConfig(config), context.env);
  try {
    const hasQuery = words.length > 0 || [flags.file, flags.saved, flags.output].some((given) => given !== undefined);
    if (context.console && !hasQuery) return await runShell(context, config, flags, queries);
    const format = selectFormat(context, flags);
    const saved = flags.saved === undefined ? undefined : findSavedQuery(savedQueries, flags.saved);
    const request = {
      config: queryConfig(config, flags.timeout),
      asOf: flags.asOf === undefined ? undefined : (await readPublishedMoment(context, config, flags.asOf)).at,
      ...(saved
        ? fillSavedQuery(saved, readParameters(flags, words))
        : { query: await readQuery(context, words, flags.file), params: flags.param ?? {} }),
      format,
    };
    if (flags.output === undefined) {
      await printResult(context, queries, { ...request, screen: selectScreen(context, flags.maxRows) });
    } else {
      await writeResultFile(context, queries, request, resolveOutput(context, config, flags.output));
    }
  } catch (error) {
    if (context.signal.aborted) throw new TidemarkError('INTERRUPTED', errorMessage(context.signal.reason));
    throw error;
  } finally {
    await queries.close();
  }
}

/** @throws TidemarkError USAGE if the result cannot be written so. */
function selectFormat(context: Context, { format, output }: SqlFlags): Format {
  const given = format ?? (context.json ? 'json' : undefined);
  if (output === undefined) {
    if (given !== 'parquet' && given !== 'xlsx') return given ?? 'table';
    throw new TidemarkError('USAGE', `--format ${given} writes to a file`, { hint: 'add -o FILE' });
  }
  const selected = given ?? EXTENSIONS[extname(output).toLowerCase()];
  if (selected === undefined) {
    throw new TidemarkError('USAGE', `the name ${output} tells no format`, {
      hint: `end it with one of ${Object.keys(EXTENSIONS).join(', ')}, or give --format`,
    });
  }
  const folder = dirname(resolve(context.cwd, output));
  if (!existsSync(folder)) throw new TidemarkError('USAGE', `-o ${output}: folder ${folder} does not exist`);
  return selected;
}

const EXTENSIONS: Readonly<Record<string, Format>> = {
  '.csv': 'csv',
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.md': 'markdown',
  '.parquet': 'parquet',
  '.xlsx': 'xlsx',
  '.txt': 'table',
};

async function printResult(context: Context, queries: QueryProcess, request: QueryRequest & { format: Format }) {
  const print = (write: WriteText) =>
    queries.run(request, guardTerminal(context, request.format, write), context.signal);
  const isLong = request.format !== 'table' || request.screen?.maxRows === Number.POSITIVE_INFINITY;
  if (context.screen && isLong) await writeToPager(context, print);
  else await print(context.stream);
}

/**
 * Writes through the user's pager, as `gh` and `git` do: `TIDEMARK_PAGER`, then `PAGER`, then `less`. An empty value or `cat` means
 * none. `less` ends at once where the text fits the screen.
 */
async function writeToPager(context: Context, print: (write: WriteText) => Promise<unknown>): Promise<void> {
  const command = findPager(context.env);
  if (command === undefined) return void (await print(context.stream));
  const pager = spawn(command, {
    shell: true,
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { LESS: 'FRX', ...context.env },
  });
  pager.stdin.on('error', () => {}); // `writeToChild` hears of it
  const closed = once(pager, 'close');
  const printed = print((text) => writeToChild(pager, text)).catch(ignoreReaderGone);
  await printed.finally(() => {
    pager.stdin.end();
    return closed;
  });
  if (pager.exitCode) {
    throw new TidemarkError('USAGE', `the pager ${command} failed with exit code ${pager.exitCode}`, {
      hint: 'the result may not be shown: set TIDEMARK_PAGER to another one, or to cat for none',
    });
  }
}

async function writeToChild({ stdin }: ChildProcess, text: string): Promise<void> {
  if (!stdin || stdin.destroyed) throw new ReaderGone();
  await new Promise<void>((resolve, reject) => {
    stdin.write(text, (error) => (error ? reject(new ReaderGone()) : resolve()));
  });
}

function findPager(env: Context['env']): string | undefined {
  const chosen = env.TIDEMARK_PAGER ?? env.PAGER;
  if (chosen !== undefined) return chosen === '' || chosen === 'cat' ? undefined : chosen;
  if (env.TERM === 'dumb') return undefined;
  return (env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'less'))) ? 'less' : undefined;
}

/** @throws TidemarkError USAGE if `path` is a link, a device or a folder */
async function writeResultFile(context: Context, queries: QueryProcess, request: QueryRequest, path: string) {
  const existing = lstatSync(path, { throwIfNoEntry: false });
  if (existing?.isSymbolicLink()) {
    throw new TidemarkError('USAGE', `${path} is a link`, { hint: 'give the path of the file itself' });
  }
  if (existing && !existing.isFile()) throw new TidemarkError('USAGE', `${path} is not a regular file`);
  const mode = existing ? existing.mode & 0o777 : PRIVATE_FILE | 0o044;
  const { rows } = await replaceFile(path, mode, (output) =>
    queries.run({ ...request, output }, context.print, context.signal),
  );
  context.log.info(`wrote ${plural(rows, 'row')} to ${path}`);
}

/** With `--saved`, the words are parameters, as `--param` gives them. */
function readParameters({ file, param }: SqlFlags, words: readonly string[]): QueryRequest['params'] {
  if (file !== undefined) throw new TidemarkError('USAGE', 'give --saved NAME or -f FILE, not both');
  return words.reduce((params, word) => parseParam(word, params), param ?? {});
}

async function readQuery(context: Context, words: readonly string[], file: string | undefined): Promise<string> {
  const [query, ...rest] = words;
  if (rest.length > 0) throw new TidemarkError('USAGE', 'give the query as one argument, in quotes');
  if (query !== undefined && file !== undefined) throw new TidemarkError('USAGE', 'give a query or -f FILE, not both');
  if (query === undefined && file === undefined && context.stdinIsTerminal)
    throw new TidemarkError('USAGE', 'no query given', { hint: 'try: tidemark sql "from workspaces"' });
  const isNamed = file !== undefined && file !== '-';
  const read = () => (isNamed ? readNamedFile(resolve(context.cwd, file), { name: file }) : context.readStdin());
  const text = query ?? (await read());
  if (text.trim() === '') throw new TidemarkError('DATA', 'the query is empty');
  return text;
}
