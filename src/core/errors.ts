/** Exit codes of the command, as the README's table lists them. */
export const EXIT = {
  done: 0,
  incomplete: 1,
  usage: 2,
  unavailable: 3,
  data: 4,
  findings: 5,
  unsafe: 6,
  bug: 70,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Who must act, and therefore which exit code: the caller, the other side, the data, or the operator who approves. */
const EXIT_OF = {
  USAGE: EXIT.usage,
  CONFIG: EXIT.usage,
  INCOMPLETE: EXIT.incomplete,
  UNREACHABLE: EXIT.unavailable,
  REFUSED: EXIT.unavailable,
  DATA: EXIT.data,
  FINDINGS: EXIT.findings,
  LOCKED: EXIT.unsafe,
  UNSAFE: EXIT.unsafe,
} as const satisfies Record<string, ExitCode>;
export type ErrorCode = keyof typeof EXIT_OF;

export interface ErrorDetails {
  /** What the reader can do about it, in one sentence. */
  readonly hint?: string;
  readonly cause?: unknown;
}

/** An error a person can act on: one line of what and where, a hint, and the exit code that belongs to it. */
export class TidemarkError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'TidemarkError';
    this.code = code;
    this.hint = details.hint;
  }

  get exit(): ExitCode {
    return EXIT_OF[this.code];
  }
}

/** The message of anything thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const UNUSABLE = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'EEXIST', 'EACCES', 'EPERM', 'EROFS', 'ENAMETOOLONG']);

/** The path that the system would not give: named by a person, such as the file of `-o`, and no bug. */
export function fileSystemError(error: unknown): { readonly path: string; readonly reason: string } | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, path: from, dest: path = from } = error as NodeJS.ErrnoException & { readonly dest?: string };
  if (code === undefined || path === undefined || !UNUSABLE.has(code)) return undefined;
  return { path, reason: error.message.replace(/^\w+: |, \w+ '.*$/gu, '') };
}

/** One line for a log or a table: message and hint, without line breaks. */
export function formatError(error: unknown): string {
  const hint = error instanceof TidemarkError && error.hint ? `: ${error.hint}` : '';
  return `${errorMessage(error)}${hint}`.replaceAll(/\s+/gu, ' ').trim();
}
