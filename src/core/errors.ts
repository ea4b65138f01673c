/** Exit codes of the command; docs/commands.md has their table. */
export const EXIT = {
  done: 0,
  incomplete: 1,
  usage: 2,
  unavailable: 3,
  data: 4,
  /** Findings of `--fail-on`, differences of `diff --exit-code`. */
  findings: 5,
  unsafe: 6,
  bug: 70,
  /** Ctrl-C at a question or during a query, as shells report a process that SIGINT ends. */
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Who must act, and therefore the exit code: the caller, the service, the data, or the operator who approves. */
const EXIT_CODES = {
  USAGE: EXIT.usage,
  CONFIG: EXIT.usage,
  INCOMPLETE: EXIT.incomplete,
  UNREACHABLE: EXIT.unavailable,
  REFUSED: EXIT.unavailable,
  DATA: EXIT.data,
  LOCKED: EXIT.unsafe,
  UNSAFE: EXIT.unsafe,
  INTERRUPTED: EXIT.interrupted,
} as const satisfies Record<string, ExitCode>;
export type ErrorCode = keyof typeof EXIT_CODES;

/** An error that the user can act on: one line of what and where, a hint, and an exit code. */
export class TidemarkError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;

  /** @param hint what the user can do about it, in one sentence */
  constructor(code: ErrorCode, message: string, { hint, cause }: { hint?: string | undefined; cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'TidemarkError';
    this.code = code;
    this.hint = hint;
  }

  get exit(): ExitCode {
    return EXIT_CODES[this.code];
  }
}

/** For `catch`: an error that the user can act on. @throws every other error */
export function catchKnown(error: unknown): TidemarkError {
  if (error instanceof TidemarkError) return error;
  throw error;
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** One line for a log or a table: message and hint, without line breaks. */
export function formatError(error: unknown): string {
  const hint = error instanceof TidemarkError && error.hint ? `: ${error.hint}` : '';
  return `${errorMessage(error)}${hint}`.replaceAll(/\s+/gu, ' ').trim();
}

/** Whether DuckDB needed more memory than it may use. It has no error codes. */
export function isMemoryError(error: unknown): boolean {
  return error instanceof Error && /^Out of Memory Error/u.test(error.message);
}
