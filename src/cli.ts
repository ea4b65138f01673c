import { setMaxListeners } from 'node:events';
import { createInterface } from 'node:readline';
import { Command, CommanderError } from 'commander';
import { commands } from './commands/index.ts';
import { frozenClock, parseTimestamp, systemClock } from './core/clock.ts';
import type { Context } from './core/context.ts';
import { EXIT, type ExitCode, messageOf, TidemarkError, unusablePath } from './core/errors.ts';
import { createLog } from './core/log.ts';
import { PACKAGE_ROOT } from './core/paths.ts';
import { createRedactor, type Redactor } from './core/redact.ts';
import type { Timing } from './core/timing.ts';
import { version } from './version.ts';

/** What a run of the command takes from the process; tests hand in their own. */
export interface Io {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  readonly readStdin: () => Promise<string>;
  /** One typed line. @default the first of `readStdin` */
  readonly readLine?: () => Promise<string>;
  readonly stdinIsTerminal: boolean;
  readonly stdoutIsTerminal: boolean;
  /** stderr, where it is a terminal. */
  readonly terminal: NodeJS.WriteStream | undefined;
  readonly signal: AbortSignal;
  /** Waits and bounds of talking to services. @default those of http/timing.ts */
  readonly timing?: Partial<Timing>;
}

/** Runs one command line and answers with its exit code; never throws. */
export async function run(io: Io): Promise<ExitCode> {
  const redactor = createRedactor();
  const stderr = (text: string) => io.stderr(redactor.text(text));
  try {
    return await dispatch({ ...io, stderr }, redactor);
  } catch (error) {
    return explain(error, stderr);
  }
}

async function dispatch(io: Io, redactor: Redactor): Promise<ExitCode> {
  let exit: ExitCode = EXIT.done;
  const program = createProgram(io);
  const context = () => contextOf(program, io, redactor, (code) => (exit = code));
  const chosen = commandName(io.argv);
  for (const { name, about, load } of commands) {
    if (name === chosen) (await load())(program, context);
    else program.command(name).description(about);
  }
  await program.parseAsync([...io.argv], { from: 'user' });
  return exit;
}

function createProgram({ stdout, stderr, stdoutIsTerminal }: Io): Command {
  return new Command('tidemark')
    .description(
      'Nightly history of an infrastructure-as-code estate: pull, compare, report, act on what was approved.',
    )
    .option('--config <file>', 'configuration file', './tidemark.yaml')
    .option('--json', 'machine-readable result on stdout')
    .option('--quiet', 'no progress, only warnings and errors')
    .option('--no-color', 'no colours')
    .option('--now <timestamp>', 'take this as the present')
    .version(version, '--version', 'version of tidemark')
    .helpOption('--help', 'what a command does and takes')
    .helpCommand('help [command]', 'what a command does and takes')
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: stdout,
      writeErr: stderr,
      getOutHasColors: () => stdoutIsTerminal,
      getErrHasColors: () => false,
    });
}

/** Global options that take a value, whose value is not the command. */
const VALUED = new Set(['--config', '--now']);

function commandName(argv: readonly string[]): string | undefined {
  const words = argv.filter((word, index) => !word.startsWith('-') && !VALUED.has(argv[index - 1] ?? ''));
  return words[0] === 'help' ? words[1] : words[0];
}

function contextOf(program: Command, io: Io, redactor: Redactor, exit: (code: ExitCode) => void): Context {
  const options = program.opts<{ config: string; json?: boolean; quiet?: boolean; color: boolean; now?: string }>();
  const now = options.now === undefined ? undefined : parseTimestamp(options.now);
  if (options.now !== undefined && !now) {
    throw new TidemarkError('USAGE', `--now ${options.now} is no timestamp`, {
      hint: 'give one such as 2026-11-20T02:15:00Z',
    });
  }
  const quiet = options.quiet ?? false;
  return {
    ...io,
    readLine: io.readLine ?? (async () => (await io.readStdin()).split('\n', 1)[0] ?? ''),
    exit,
    redactor,
    quiet,
    json: options.json ?? false,
    color: options.color && io.stdoutIsTerminal && !io.env.NO_COLOR,
    terminal: quiet ? undefined : io.terminal,
    configFile: options.config,
    clock: now ? frozenClock(now) : systemClock,
    log: createLog({ write: io.stderr, redactor, quiet }),
  };
}

function explain(error: unknown, stderr: (text: string) => void): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof TidemarkError) {
    const hint = error.hint ? `\n  ${error.hint}` : '';
    stderr(`error: ${error.message}${hint}\n`);
    return error.exit;
  }
  const unusable = unusablePath(error);
  if (unusable && !unusable.path.startsWith(PACKAGE_ROOT)) {
    stderr(`error: ${unusable.path} cannot be used: ${unusable.reason}\n`);
    return EXIT.usage;
  }
  stderr(`internal error: ${error instanceof Error ? (error.stack ?? error.message) : messageOf(error)}\n`);
  return EXIT.bug;
}

/** Time that a stopped command has to end by itself. */
const GRACE_MS = 4_500;

/** The command as a process. */
export async function main(): Promise<void> {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal); // every request under way listens
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(EXIT.incomplete);
      stop.abort(new TidemarkError('INCOMPLETE', `stopped by ${name}`));
      setTimeout(() => process.exit(EXIT.incomplete), GRACE_MS).unref();
    });
  }
  process.stdout.on('error', leaveOnClosedPipe);
  process.exitCode = await run({
    argv: process.argv.slice(2),
    cwd: process.cwd(),
    env: process.env,
    stdout: (text) => process.stdout.write(text),
    stderr: (text) => process.stderr.write(text),
    readStdin,
    readLine,
    stdinIsTerminal: process.stdin.isTTY ?? false,
    stdoutIsTerminal: process.stdout.isTTY ?? false,
    terminal: process.stderr.isTTY ? process.stderr : undefined,
    signal: stop.signal,
  });
}

/** `tidemark sql … | head` is no failure. */
function leaveOnClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  throw error;
}

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

async function readLine(): Promise<string> {
  const lines = createInterface({ input: process.stdin });
  for await (const line of lines) {
    lines.close();
    return line;
  }
  return '';
}
