import { once, setMaxListeners } from 'node:events';
import { fstatSync, writeSync } from 'node:fs';
import { relative } from 'node:path';
import { createInterface } from 'node:readline';
import { type Command, CommanderError } from 'commander';
import type { DocumentedCommand } from './cli/define.ts';
import { addCommands, createProgram, type GlobalOptions } from './cli/index.ts';
import { frozenClock, systemClock } from './core/clock.ts';
import { type Colors, createColors, isColorEnabled } from './core/color.ts';
import { ignoreReaderGone, type ProcessIo, ReaderGone } from './core/context.ts';
import { EXIT, type ExitCode, errorMessage, formatError, isMemoryError, TidemarkError } from './core/errors.ts';
import { decodeUtf8, fileSystemError, MAX_TEXT_KIBIBYTES, systemLack } from './core/fs.ts';
import { interrupts } from './core/interrupts.ts';
import { createLog, printError, stripControls } from './core/log.ts';
import { Redactor } from './core/redact/redactor.ts';
import { quoteWord } from './core/shell-word.ts';

/** Runs one command line and returns its exit code; never throws. */
export async function run(argv: readonly string[], io: ProcessIo): Promise<ExitCode> {
  const { env, redactor, screen, terminal } = io;
  const isDisabled = argv.includes('--no-color');
  const paint = (isTerminal: boolean) => createColors(isColorEnabled({ isTerminal, env, isDisabled }));
  const colors = paint(screen !== undefined);
  const errorColors = paint(terminal !== undefined);
  // Messages name commands as `tidemark …`; the user gets them as this shell runs them.
  const stderr = (text: string) =>
    io.stderr(redactor.text(text.replaceAll('`tidemark ', () => `\`${nameStart(io, program)} `)));
  let exit: ExitCode = EXIT.done;
  const program: DocumentedCommand = createProgram({ stdout: io.stdout, stderr, colors }, async (command) => {
    const { quiet = false } = program.opts<GlobalOptions>();
    const log = createLog({ write: stderr, redactor, quiet, colors: errorColors });
    const context = { ...createContext(program, io), stderr, colors, log, exit: (code: ExitCode) => (exit = code) };
    const { resumeDemo, withoutProxy } = await import('./cli/demo-services.ts');
    const stopServices = await resumeDemo(context, program.args[0] ?? '');
    await command(stopServices ? withoutProxy(context) : context).finally(stopServices);
  });
  try {
    await runCommand(argv, io, program);
    return exit;
  } catch (error) {
    if (error instanceof ReaderGone) return exit;
    // What waits for a signal as well is rejected with an error of Node's own.
    const isStopped = io.signal.aborted && error instanceof Error && error.name === 'AbortError';
    return reportError(isStopped ? io.signal.reason : error, stderr, errorColors);
  }
}

/** The scripts of `tidemark completion` call it. The words after it are not parsed as a command line: the last is incomplete. */
const COMPLETION_WORD = '__complete';

async function runCommand(argv: readonly string[], io: ProcessIo, program: DocumentedCommand): Promise<void> {
  const [first, ...words] = argv;
  if (first === COMPLETION_WORD) {
    const { completeWords } = await import('./cli/complete-words.ts');
    return io.stdout(await completeWords(words, io.cwd));
  }
  await addCommands(program, argv);
  const asked = first === 'help' && words.length > 0 ? [...words, '--help'] : [...argv];
  await program.parseAsync(asked, { from: 'user' });
}

/** How to run another command with the same configuration, as a shell takes it. */
function nameStart(io: ProcessIo, program: Command): string {
  const given = ['config', 'shard'].filter((name) => program.getOptionValueSource(name) === 'cli');
  return [io.program, ...given.map((name) => `--${name} ${quoteWord(program.getOptionValue(name))}`)].join(' ');
}

/** What the global options say. */
function createContext(program: Command, io: ProcessIo) {
  const { quiet = false, json = false, wide, now, config, shard } = program.opts<GlobalOptions>();
  const { screen, env } = io;
  // JSON has texts from outside. They must not control the terminal; a pipe or a file receives every byte.
  const stdout = json && screen ? (text: string) => io.stdout(stripControls(text)) : io.stdout;
  const stream = async (text: string) => {
    stdout(text);
    await io.drain();
  };
  return {
    ...io,
    program: nameStart(io, program),
    stdout,
    stream,
    // What counts findings or acts ends with its own exit code: `findings --fail-on critical | head` must not pass.
    print: (text: string) => stream(text).catch(ignoreReaderGone),
    screen: screen && wide ? { columns: Number.POSITIVE_INFINITY, rows: screen.rows } : screen,
    quiet,
    json,
    terminal: quiet ? undefined : io.terminal,
    configFile: config,
    shard: shard ?? env.TIDEMARK_SHARD,
    clock: now ? frozenClock(now) : systemClock,
  };
}

/** What a statement of DuckDB lacked. It keeps what does not fit into memory in temporary files, as long as the disk has space. */
function memoryLack(error: unknown): string | undefined {
  if (!isMemoryError(error)) return undefined;
  return errorMessage(error).includes('max_temp_directory_size')
    ? 'the disk has too little space for the temporary files of DuckDB'
    : 'DuckDB needs more memory than it may use: raise `memoryLimit`';
}

/** What the user can act on, as an error of ours; undefined for a bug. */
function explainError(error: unknown): TidemarkError | undefined {
  if (error instanceof TidemarkError) return error;
  const unusable = fileSystemError(error);
  if (unusable) return new TidemarkError('USAGE', `${unusable.path} cannot be used: ${unusable.reason}`);
  const system = systemLack(error);
  const lack = memoryLack(error) ?? (system && `${system} (${formatError(error)})`);
  return lack === undefined ? undefined : new TidemarkError('INCOMPLETE', lack);
}

function reportError(error: unknown, stderr: ProcessIo['stderr'], colors: Colors): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  const known = explainError(error);
  if (known) {
    stderr(printError(known, colors));
    return known.exit;
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

/** How long further signals may be the first one: `timeout` sends it to the process and to its group. */
const ECHO_MS = 50;

/** How to start the program again from this folder. `npx` gets `--no`, so that it never looks for a package elsewhere. */
function nameProgram(script: string, cwd: string): string {
  if (/[\\/]node_modules[\\/]\.bin[\\/]tidemark$/u.test(script)) return 'npx --no tidemark';
  const isInstalled = /[\\/](?:tidemark|node_modules[\\/]tidemark[\\/]bin[\\/]tidemark\.js)$/u.test(script);
  return isInstalled ? 'tidemark' : `node ${relative(cwd, script)}`;
}

/** What DuckDB's allocator keeps of freed memory: docs/decisions.md#loads. */
const ALLOCATOR = 'narenas:1,dirty_decay_ms:100,muzzy_decay_ms:0';

/** For a fault that no command has caught, or a signal that it does not follow: says what is known, and ends the process. */
function exitOnLostError(error: unknown, redactor: Redactor): never {
  const stderr = (text: string) => process.stderr.write(redactor.text(text));
  process.exit(reportError(error, stderr, createColors(false)));
}

/** Ends the process as SIGHUP does by default. Node aborts at an exit of its own where the terminal is gone. */
function hangUp(): void {
  process.removeAllListeners('SIGHUP');
  process.kill(process.pid, 'SIGHUP');
}

/** Stops the command at the first signal, and ends the process at a further one. @returns what ends a process that is hung up */
function followSignals(stop: AbortController, redactor: Redactor): () => void {
  let isHungUp = false;
  let mayInsist = false; // whether a further signal is of somebody who wants no more waiting
  const leave = () => (isHungUp ? hangUp() : exitOnLostError(stop.signal.reason, redactor));
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      isHungUp ||= name === 'SIGHUP' && process.pid !== 1; // no default ends the first process of a container
      if (mayInsist && name !== 'SIGHUP') leave(); // the shell and the kernel may both send that one
      stop.abort(new TidemarkError('INCOMPLETE', `stopped by ${name}`));
      setTimeout(() => {
        mayInsist = true;
      }, ECHO_MS).unref();
      setTimeout(leave, GRACE_MS).unref();
    });
  }
  return () => {
    if (isHungUp) hangUp();
  };
}

/** Reports a process that ends before its command. @returns what says that the command is done */
function watchExit(): () => void {
  let isDone = false;
  process.on('exit', (code) => {
    for (const interrupt of interrupts) interrupt();
    if (isDone || code !== EXIT.done) return;
    // A playbook of a plugin runs in this process.
    process.stderr.write(
      'error: the process was ended before the command was done, as by a `process.exit` of a plugin\n',
    );
    process.exitCode = EXIT.incomplete;
  });
  return () => {
    isDone = true;
  };
}

/** A disk that is almost full takes a part of a text, which Node's stream of a file takes for all of it. */
function writeWholeText(file: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
}

/** stdout, as long as somebody reads it. */
function openStdout(signal: AbortSignal): Pick<ProcessIo, 'stdout' | 'drain'> {
  let isRead = true;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // `tidemark sql … | head` closes the pipe, and SIGHUP is sent where the terminal is gone; that is not an error
    if (error.code !== 'EPIPE' && !(error.code === 'EIO' && process.stdout.isTTY)) throw error;
    isRead = false;
  });
  const isFile = fstatSync(process.stdout.fd).isFile();
  return {
    stdout: (text) => (isFile ? writeWholeText(process.stdout.fd, text) : process.stdout.write(text)),
    drain: async () => {
      if (!isRead) throw new ReaderGone();
      if (!process.stdout.writableNeedDrain) return;
      const taken = once(process.stdout, 'drain', { signal });
      await taken.catch((error) => Promise.reject(isRead ? error : new ReaderGone()));
    },
  };
}

/** Runs the command line of this process. */
export async function main(): Promise<void> {
  process.env.DUCKDB_JE_MALLOC_CONF ??= ALLOCATOR; // read when DuckDB is loaded
  globalThis.console = new console.Console(process.stderr); // what a playbook of a plugin prints is not the result of the command
  const redactor = new Redactor();
  const stop = new AbortController();
  setMaxListeners(0, stop.signal); // every request in flight listens
  const endHungUp = followSignals(stop, redactor);
  process.on('uncaughtException', (error) => exitOnLostError(error, redactor)); // a rejection that nobody handles as well
  const markDone = watchExit();
  process.stderr.on('error', () => {}); // a log that takes no more, such as a closed pipe, must not end a run
  process.exitCode = await run(process.argv.slice(2), {
    redactor,
    program: nameProgram(process.argv[1] ?? '', process.cwd()),
    cwd: process.cwd(),
    env: process.env,
    ...openStdout(stop.signal),
    screen: process.stdout.isTTY ? SCREEN : undefined,
    console: process.stdin.isTTY && process.stdout.isTTY ? { input: process.stdin, output: process.stdout } : undefined,
    stderr: (text) => process.stderr.write(text),
    readStdin,
    readLine: () => readLine(stop.signal),
    stdinIsTerminal: process.stdin.isTTY ?? false,
    terminal: process.stderr.isTTY ? process.stderr : undefined,
    signal: stop.signal,
  });
  markDone();
  endHungUp();
  // Text that nobody reads any more must not keep the process alive.
  if (stop.signal.aborted && process.stdout.writableLength > 0) process.exit();
}

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_TEXT_KIBIBYTES * 1024)
      throw new TidemarkError('USAGE', `standard input is larger than ${MAX_TEXT_KIBIBYTES} KiB`);
    chunks.push(chunk);
  }
  try {
    return decodeUtf8(Buffer.concat(chunks));
  } catch (error) {
    throw new TidemarkError('USAGE', `standard input cannot be read: ${errorMessage(error)}`);
  }
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
