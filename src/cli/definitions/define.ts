import { type Command, InvalidArgumentError } from 'commander';
import type { Context } from '../../core/context.ts';
import { TidemarkError } from '../../core/errors.ts';

/**
 * Adds a command to the program: its arguments, options and help. Only the action loads the code that the command runs, so that
 * help and completion are fast. `context` may be called once the command line is parsed.
 */
export type DefineCommand = (program: Command, context: () => Context) => Command;

export interface Example {
  /** A command line, without a prompt. */
  readonly line: string;
  /** What it does, in the imperative. */
  readonly does: string;
}

const examples = new WeakMap<Command, readonly Example[]>();

/** Gives the command examples, which its help and the man page show. Each is a command line and what it does. */
export function addExamples(command: Command, ...pairs: readonly (readonly [line: string, does: string])[]): Command {
  const added = pairs.map(([line, does]) => ({ line, does }));
  examples.set(command, added);
  const text = added.map(({ line, does }) => `  # ${does}\n  ${line}\n`).join('\n');
  return command.addHelpText('after', () => `\n${command.createHelp().styleTitle('Examples:')}\n${text}`);
}

export function listExamples(command: Command): readonly Example[] {
  return examples.get(command) ?? [];
}

/** What an option or argument that names a moment takes (`resolveMoment`). */
export const MOMENT = 'yesterday, last monday, -7d, a date, a time or a run';

/** Parser of a repeatable option. */
export function collect(value: string, previous: readonly string[]): readonly string[] {
  return [...previous, value];
}

export function wholeNumber(text: string): number {
  if (!/^\d+$/u.test(text)) throw new InvalidArgumentError('must be a whole number');
  return Number(text);
}

export function positiveNumber(text: string): number {
  if (!/^[1-9]\d*$/u.test(text)) throw new InvalidArgumentError('must be a whole number above 0');
  return Number(text);
}

const MAX_PORT = 65_535;

/** 0 selects a free one. */
export function port(text: string): number {
  if (/^\d+$/u.test(text) && Number(text) <= MAX_PORT) return Number(text);
  throw new InvalidArgumentError(`must be a port from 0 to ${MAX_PORT}`);
}

const MAX_DAYS = 3650;

export function days(text: string): number {
  if (/^\d+$/u.test(text) && Number(text) <= MAX_DAYS) return Number(text);
  throw new InvalidArgumentError(`must be a whole number from 0 to ${MAX_DAYS}`);
}

export function percentage(text: string): number {
  const value = Number(text);
  if (!/^\d+(?:\.\d+)?$/u.test(text) || value <= 0 || value > 100) {
    throw new InvalidArgumentError('must be above 0 and at most 100');
  }
  return value;
}

/** Parser of a repeatable option, or of words. @throws TidemarkError USAGE if the text is not NAME=VALUE. */
export function parseParam(pair: string, previous: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const at = pair.indexOf('=');
  if (at < 1) throw new TidemarkError('USAGE', `${pair} is not NAME=VALUE`);
  return { ...previous, [pair.slice(0, at)]: pair.slice(at + 1) };
}
