import { type Colors, createColors } from './color.ts';
import type { Redactor } from './redact/redactor.ts';

/** Plain lines on stderr. `info` is silent under `--quiet`; warnings and errors are not. */
export interface Log {
  info(line: string): void;
  warn(line: string): void;
  error(line: string): void;
}

interface LogOptions {
  readonly write: (text: string) => void;
  readonly redactor: Redactor;
  readonly quiet: boolean;
  /** For the words `warning:` and `error:`. @default no colour */
  readonly colors?: Colors;
}

/** C0 controls (without tab and line feed), DEL, C1 and bidirectional overrides. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression is about them
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/gu;

/** Text that cannot control a terminal: names come from outside. */
export function stripControls(text: string): string {
  return text.replaceAll(CONTROLS, '');
}

/** The beginning of a text, never within a character of two UTF-16 units. */
export function cutText(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/u, '');
}

/** A text of at most `maxLength` characters, then `…` for the rest. */
export function shortenText(text: string, maxLength: number): string {
  return text.length > maxLength ? `${cutText(text, maxLength)}…` : text;
}

/** An error as a command prints it. Its message may quote what a service or a query answered. */
export function printError({ message, hint }: { message: string; hint?: string | undefined }, colors: Colors): string {
  const text = stripControls(hint ? `${message}\n  ${hint}` : message);
  return `${colors.red('error:')} ${text}\n`;
}

/** A line may repeat a name, and a service says how long that is. */
const MAX_LINE_LENGTH = 4000;

export function createLog({ write, redactor, quiet, colors = createColors(false) }: LogOptions): Log {
  const line = (prefix: string) => (text: string) =>
    write(`${prefix}${shortenText(redactor.text(stripControls(text).replaceAll('\n', ' ')), MAX_LINE_LENGTH)}\n`);
  return {
    info: quiet ? () => {} : line(''),
    warn: line(`${colors.yellow('warning:')} `),
    error: line(`${colors.red('error:')} `),
  };
}
