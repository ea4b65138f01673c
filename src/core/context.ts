import type { Clock } from './clock.ts';
import type { Colors } from './color.ts';
import type { ExitCode } from './errors.ts';
import type { Log } from './log.ts';
import type { Redactor } from './redact/redactor.ts';

/** Times and bounds of a service's requests. They are parameters so that tests of code that waits take milliseconds. */
export type HttpTimeouts = Readonly<typeof DEFAULT_TIMEOUTS>;

export const DEFAULT_TIMEOUTS = {
  /** First back-off; it doubles with each attempt. */
  backoffMs: 500,
  maxBackoffMs: 10_000,
  /** Attempts at a request that may be repeated, the first included. */
  attempts: 5,
  connectMs: 10_000,
  /** Until the response headers. An explorer query takes up to 60 s (docs/services/platform.md#limits). */
  headersMs: 90_000,
  /** Between two parts of a body. */
  idleMs: 60_000,
  /** A body that delivers fewer than 1 KiB/s over this time is given up, as if it were cut off. */
  slowMs: 60_000,
  /** A whole response that is held in memory. */
  responseMs: 300_000,
  downloadMs: 3_600_000,
  /** Size of a response that is held in memory. */
  maxResponseBytes: 64 * 1024 * 1024,
  maxDownloadBytes: 16 * 1024 ** 3,
};

/** Nobody reads the output any more. */
export class ReaderGone extends Error {}

export function ignoreReaderGone(error: unknown): void {
  if (!(error instanceof ReaderGone)) throw error;
}

/** What a process gives to the command line. It is passed in once, so that a command also runs inside a test. */
export interface ProcessIo {
  /** How to start the program again, as a shell takes it: `tidemark`, or `node bin/tidemark.js`. */
  readonly program: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads all of standard input. */
  readonly readStdin: () => Promise<string>;
  /** Reads one line that the user types; empty at the end of input. */
  readonly readLine: () => Promise<string>;
  readonly stdinIsTerminal: boolean;
  readonly stdout: (text: string) => void;
  /** Resolves when stdout takes more. @throws ReaderGone */
  readonly drain: () => Promise<void>;
  readonly stderr: (text: string) => void;
  /** stdin and stdout, where both are terminals that a person types at. */
  readonly console: { readonly input: NodeJS.ReadStream; readonly output: NodeJS.WriteStream } | undefined;
  /** The size of stdout, where it is a terminal. */
  readonly screen: { readonly columns: number; readonly rows: number } | undefined;
  /** stderr, where it is a terminal that can show progress. */
  readonly terminal: NodeJS.WriteStream | undefined;
  readonly redactor: Redactor;
  /** Aborted by SIGTERM, SIGHUP and Ctrl-C. */
  readonly signal: AbortSignal;
  /** Set by tests to shorten waits. */
  readonly timeouts?: Partial<HttpTimeouts>;
}

/** What a command gets: its process, and the values of the global options. `program` has those that name the configuration. */
export interface Context extends ProcessIo {
  /** Writes to stdout, and resolves when stdout takes more: for output that may be large. */
  readonly print: (text: string) => Promise<void>;
  /** The same for output that may have no end. @throws ReaderGone which ends the command without an error */
  readonly stream: (text: string) => Promise<void>;
  /** Colours for stdout: functions that return the text unchanged where stdout is not coloured. */
  readonly colors: Colors;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly configFile: string;
  /** The part of the targets to work on, such as `3/16`. @default all */
  readonly shard?: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Sets the exit code of a command that ends without an error. @default 0 */
  readonly exit: (code: ExitCode) => void;
}

/** What a client of services takes from it. */
export type ServiceContext = Pick<Context, 'env' | 'log' | 'redactor' | 'timeouts'>;

/** What work below the commands takes from it: time, log and services, and nothing to write a result to. */
export type WorkContext = ServiceContext & Pick<Context, 'clock' | 'signal'>;

/** What a run takes from it: work, the folder that a lake is relative to, and the terminal that shows its progress. */
export type JobContext = WorkContext & Pick<Context, 'cwd' | 'terminal'>;
