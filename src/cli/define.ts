import { Command, InvalidArgumentError, Option } from 'commander';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';

/**
 * Gives a command its arguments, options and help. Its action imports its own file: the bundle has the definition without what the
 * command runs, so that help and completion are fast. `context` may be called once the command line is parsed.
 */
export type DefineCommand = (command: DocumentedCommand, context: () => Context) => void;

/** A command line, without a prompt, and what it does, in the imperative. */
export type Example = readonly [line: string, does: string];

/** A command with examples, which its help and the man page show. */
export class DocumentedCommand extends Command {
  declare readonly commands: readonly DocumentedCommand[];
  #examples: readonly Example[] = [];

  override createCommand(name?: string): DocumentedCommand {
    return new DocumentedCommand(name);
  }

  /** An option with one of some values. @param required that it must be given */
  choice(flags: string, about: string, values: readonly string[], required?: 'required'): this {
    return this.addOption(new Option(flags, about).choices([...values]).makeOptionMandatory(required !== undefined));
  }

  examples(...added: readonly Example[]): this {
    this.#examples = added;
    const text = added.map(([line, does]) => `  # ${does}\n  ${line}\n`).join('\n');
    return this.addHelpText('after', () => `\n${this.createHelp().styleTitle('Examples:')}\n${text}`);
  }

  listExamples(): readonly Example[] {
    return this.#examples;
  }
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
