import { once, setMaxListeners } from 'node:events';
import { relative } from 'node:path';
import { createInterface } from 'node:readline';
import { type Command, CommanderError } from 'commander';
import { addCommands } from './cli/index.ts';
import { createProgram, type GlobalOptions } from './cli/program.ts';
import { frozenClock, parseTimestamp, systemClock } from './core/clock.ts';
import { type Colors, createColors, isColorEnabled } from './core/color.ts';
import type { Context } from './core/context.ts';
import { EXIT, type ExitCode, errorMessage, TidemarkError } from './core/errors.ts';
import { fileSystemError, systemLack } from './core/fs.ts';
import { createLog, printError, stripControls } from './core/log.ts';
import { PACKAGE_ROOT } from './core/paths.ts';
import { Redactor } from './core/redact/redactor.ts';
import { quoteWord } from './core/shell-word.ts';

type Given =
  | 'cwd'
  | 'env'
  | 'stdout'
  | 'stderr'
  | 'readStdin'
  | 'stdinIsTerminal'
  | 'stdoutIsTerminal'
  | 'terminal'
  | 'signal'
  | 'timeouts';
type Optional = 'program' | 'readLine' | 'console' | 'screen' | 'redactor';

/** What a command takes from its process; tests pass their own. */
export interface CliIo extends Pick<Context, Given>, Partial<Pick<Context, Optional>> {
  readonly argv: readonly string[];
  /** Resolves when stdout takes more. @default at once */
  readonly drain?: () => Promise<void>;
}

/** What `dispatch` derives from the process once, before the command line is parsed. */
interface Session extends CliIo {
  readonly program: string;
  readonly redactor: Redactor;
  readonly colors: Colors;
  readonly stderrColors: Colors;
}

/** Runs one command line and returns its exit code; never throws. */
export async function run(io: CliIo): Promise<ExitCode> {
  const { redactor = new Redactor() } = io;
  const isDisabled = io.argv.includes('--no-color');
  const program = nameStart(io);
  const session: Session = {
    ...io,
    program,
    redactor,
    // Messages name commands as `tidemark …`; the user gets them as this shell runs them.
    stderr: (text) => io.stderr(redactor.text(text.replaceAll('`tidemark ', () => `\`${program} `))),
    colors: createColors(isColorEnabled({ isTerminal: io.stdoutIsTerminal, env: io.env, isDisabled })),
    stderrColors: createColors(isColorEnabled({ isTerminal: io.terminal !== undefined, env: io.env, isDisabled })),
  };
  try {
    return await dispatch(session);
  } catch (error) {
    return reportError(error, session);
  }
}

/** The scripts of `tidemark completion` call it. The words after it are not parsed as a command line: the last is incomplete. */
const COMPLETION_WORD = '__complete';

async function dispatch(session: Session): Promise<ExitCode> {
  const [first, ...words] = session.argv;
  if (first === COMPLETION_WORD) {
    const { completeWords } = await import('./cli/complete-words.ts');
    session.stdout(await completeWords(words, session.cwd));
    return EXIT.done;
  }
  let exit: ExitCode = EXIT.done;
  const program = createProgram(session, () => createContext(program, session, (code) => (exit = code)));
  await addCommands(program, session.argv);
  await parseCommand(program, session);
  return exit;
}

/** Runs the command; the services of a demo run in this process while it does. */
async function parseCommand(program: Command, session: Session): Promise<void> {
  let stopServices: (() => Promise<void>) | undefined;
  program.hook('preAction', async () => {
    const { resumeDemo } = await import('./cli/demo-services.ts');
    const context = createContext(program, session, () => {});
    stopServices = await resumeDemo(context, program.args[0] ?? '');
  });
  await program.parseAsync([...session.argv], { from: 'user' }).finally(() => stopServices?.());
}

/** How to run another command with the same configuration, as a shell takes it. */
function nameStart({ program = 'tidemark', argv }: CliIo): string {
  const options = ['--config', '--shard'].flatMap((option) => {
    const last = argv.findLastIndex((word) => word === option || word.startsWith(`${option}=`));
    const word = argv[last] ?? '';
    const value = word === option ? argv[last + 1] : word.slice(option.length + 1);
    return value ? [` ${option} ${quoteWord(value)}`] : [];
  });
  return `${program}${options.join('')}`;
}

function createContext(program: Command, session: Session, exit: (code: ExitCode) => void): Context {
  const { quiet = false, json = false, wide, now: time, config, shard } = program.opts<GlobalOptions>();
  const now = time === undefined ? undefined : parseTimestamp(time);
  if (time !== undefined && !now) {
    throw new TidemarkError('USAGE', `--now ${time} is not a timestamp`, {
      hint: 'give one such as 2026-11-20T02:15:00Z',
    });
  }
  const { screen, readStdin, stderr, redactor, stderrColors } = session;
  // JSON has texts from outside. They must not control the terminal; a pipe or a file receives every byte.
  const isGuarded = json && session.stdoutIsTerminal;
  const stdout = isGuarded ? (text: string) => session.stdout(stripControls(text)) : session.stdout;
  return {
    readLine: async () => (await readStdin()).split('\n', 1)[0] ?? '',
    console: undefined,
    ...session,
    stdout,
    print: async (text) => {
      stdout(text);
      await session.drain?.();
    },
    screen: screen && wide ? { columns: Number.POSITIVE_INFINITY, rows: screen.rows } : screen,
    exit,
    quiet,
    json,
    terminal: quiet ? undefined : session.terminal,
    configFile: config,
    shard: shard ?? session.env.TIDEMARK_SHARD,
    clock: now ? frozenClock(now) : systemClock,
    log: createLog({ write: stderr, redactor, quiet, colors: stderrColors }),
  };
}

function reportError(
  error: unknown,
  { stderr, stderrColors: colors }: Pick<Session, 'stderr' | 'stderrColors'>,
): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof TidemarkError) {
    stderr(printError(error, colors));
    return error.exit;
  }
  const lack = systemLack(error);
  const unusable = fileSystemError(error);
  const isOwn = unusable?.path.startsWith(PACKAGE_ROOT) ?? false;
  const problem = lack ?? (unusable && !isOwn ? `${unusable.path} cannot be used: ${unusable.reason}` : undefined);
  if (problem !== undefined) {
    stderr(printError({ message: problem }, colors));
    return lack === undefined ? EXIT.usage : EXIT.incomplete;
  }
  const detail = error instanceof Error ? (error.stack ?? error.message) : errorMessage(error);
  stderr(`${colors.red('internal error:')} ${stripControls(detail)}\n`);
  return EXIT.bug;
}

/** The terminal at stdout. One whose size is not known has 0 columns and rows. */
const SCREEN = {
  get columns() {
    return process.stdout.columns || 80;
  },
  get rows() {
    return process.stdout.rows || 24;
  },
};

/** How long a command may take to stop after a signal. */
const GRACE_MS = 4_500;

/** How to start the program again from this folder. `npx` gets `--no`, so that it never looks for a package elsewhere. */
function nameProgram(script: string, cwd: string): string {
  if (/[\\/]node_modules[\\/]\.bin[\\/]tidemark$/u.test(script)) return 'npx --no tidemark';
  const isInstalled = /[\\/](?:tidemark|node_modules[\\/]tidemark[\\/]bin[\\/]tidemark\.js)$/u.test(script);
  return isInstalled ? 'tidemark' : `node ${relative(cwd, script)}`;
}

/** What DuckDB's allocator keeps of freed memory: docs/decisions.md#loads. */
const ALLOCATOR = 'narenas:1,dirty_decay_ms:100,muzzy_decay_ms:0';

/** A fault that no command has caught: it says what is known and ends the process, whose state is not known any more. */
function exitOnLostError(error: unknown, redactor: Redactor): never {
  const stderr = (text: string) => process.stderr.write(redactor.text(text));
  process.exit(reportError(error, { stderr, stderrColors: createColors(false) }));
}

/** Runs the command line of this process. */
export async function main(): Promise<void> {
  process.env.DUCKDB_JE_MALLOC_CONF ??= ALLOCATOR; // read when DuckDB is loaded
  const stop = new AbortController();
  setMaxListeners(0, stop.signal); // every request in flight listens
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(EXIT.incomplete);
      stop.abort(new TidemarkError('INCOMPLETE', `stopped by ${name}`));
      setTimeout(() => process.exit(EXIT.incomplete), GRACE_MS).unref();
    });
  }
  const redactor = new Redactor();
  process.on('uncaughtException', (error) => exitOnLostError(error, redactor)); // a rejection that nobody handles as well
  process.stdout.on('error', exitOnClosedPipe);
  process.exitCode = await run({
    argv: process.argv.slice(2),
    redactor,
    program: nameProgram(process.argv[1] ?? '', process.cwd()),
    cwd: process.cwd(),
    env: process.env,
    stdout: (text) => process.stdout.write(text),
    drain: () => drain(stop.signal),
    ...(process.stdout.isTTY && { screen: SCREEN }),
    ...(process.stdin.isTTY && process.stdout.isTTY && { console: { input: process.stdin, output: process.stdout } }),
    stderr: (text) => process.stderr.write(text),
    readStdin,
    readLine: () => readLine(stop.signal),
    stdinIsTerminal: process.stdin.isTTY ?? false,
    stdoutIsTerminal: process.stdout.isTTY ?? false,
    terminal: process.stderr.isTTY ? process.stderr : undefined,
    signal: stop.signal,
  });
  // Text that nobody reads any more must not keep the process alive.
  if (stop.signal.aborted && process.stdout.writableLength > 0) process.exit();
}

async function drain(signal: AbortSignal): Promise<void> {
  if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain', { signal });
}

/** `tidemark sql … | head` closes the pipe; that is not an error. */
function exitOnClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  throw error;
}

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** One typed line; empty at the end of the input, and after a signal. */
async function readLine(signal: AbortSignal): Promise<string> {
  if (process.stdin.readableEnded) return ''; // a second reader would wait for an end that has been
  const lines = createInterface({ input: process.stdin, signal });
  for await (const line of lines) {
    lines.close();
    return line;
  }
  return '';
}
