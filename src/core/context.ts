import type { Clock } from './clock.ts';
import type { ExitCode } from './errors.ts';
import type { Log } from './log.ts';
import type { Redactor } from './redact.ts';
import type { Timing } from './timing.ts';

/** Everything a command takes from the process, handed in once so that it also runs inside a test. */
export interface Context {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads all of standard input. */
  readonly readStdin: () => Promise<string>;
  /** Reads one line that a person types; empty at the end of input. */
  readonly readLine: () => Promise<string>;
  readonly stdinIsTerminal: boolean;
  readonly stdoutIsTerminal: boolean;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** stderr, where it is a terminal that progress can be drawn on. */
  readonly terminal: NodeJS.WriteStream | undefined;
  readonly color: boolean;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly configFile: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly redactor: Redactor;
  /** The code that the command ends with, where it ends without an error. @default 0 */
  readonly exit: (code: ExitCode) => void;
  /** Aborted by SIGTERM and Ctrl-C. */
  readonly signal: AbortSignal;
  /** Waits and bounds of talking to services, where a test shortens them. */
  readonly timing?: Partial<Timing>;
}
