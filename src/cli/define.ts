import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, type HelpContext, InvalidArgumentError, Option } from 'commander';
import { MAX_SECONDS, MAX_SHARDS } from '../core/choices.ts';
import { parseTimestamp } from '../core/clock.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { PACKAGE_ROOT } from '../core/paths.ts';

/**
 * Gives a command its arguments, options and help. What it runs is imported from its own file: the bundle has the definition without
 * that, so that help and completion are fast.
 */
export type DefineCommand = (command: DocumentedCommand) => void;

/** Takes the arguments of its command, and then its options. */
type RunCommand = (context: Context, ...given: never[]) => unknown;

/** Options that are given or not. */
export type Switches<Name extends string> = Readonly<Partial<Record<Name, boolean>>>;

/** Options that are given with a text. */
export type Texts<Name extends string> = Readonly<Partial<Record<Name, string>>>;

/** Options that are given any number of times, with a text each. */
export type Lists<Name extends string> = Readonly<Record<Name, readonly string[]>>;

/** Gives a command, with its arguments and options, what it takes from its process. */
export type Perform = (command: (context: Context) => Promise<unknown>) => Promise<void>;

/** The sections of `templates/commands.txt`: a command, in short, in full, and examples. */
let texts: readonly string[] | undefined;

/** A command with examples, which its help and the man page show. */
export class DocumentedCommand extends Command {
  declare readonly commands: readonly DocumentedCommand[];
  readonly #perform: Perform;

  constructor(name: string | undefined, perform: Perform) {
    super(name);
    this.#perform = perform;
  }

  override createCommand(name?: string): DocumentedCommand {
    return new DocumentedCommand(name, this.#perform);
  }

  /** Of a word that is no command there is no help: commander shows that of the program. */
  override outputHelp(context?: HelpContext | ((text: string) => string)): void {
    const [word = 'help'] = this.args;
    const names = ['help', ...this.commands.map((command) => command.name())];
    if (names.length > 1 && !word.startsWith('-') && !names.includes(word))
      throw new TidemarkError('USAGE', `unknown command ${word}`, { hint: `known are ${names.join(', ')}` });
    super.outputHelp(context as HelpContext);
  }

  /** @param name of what it runs, which `load` exports */
  runs<Name extends string>(load: () => Promise<Readonly<Record<Name, RunCommand>>>, name: Name): this {
    return this.action((...given: unknown[]) => {
      this.#refuseEmpty();
      this.#refuseOfParent();
      return this.#perform(async (context) => (await load())[name](context, ...(given.slice(0, -1) as never[])));
    });
  }

  /** An option with one of some values. @param required that it must be given */
  choice(flags: string, about: string, values: readonly string[], required?: 'required'): this {
    return this.addOption(new Option(flags, about).choices([...values]).makeOptionMandatory(required !== undefined));
  }

  /** An option that may be given several times: its value is a list. */
  repeatable(flags: string, about: string): this {
    const add = (value: string, earlier: readonly string[]) => [...earlier, value];
    const option = new Option(flags, `${about}; repeatable`).argParser(add);
    return this.addOption(option).setOptionValue(option.attributeName(), []); // as its default, help would show it
  }

  /** What a script gives of a variable that is not set must not be the current folder. @throws TidemarkError USAGE */
  #refuseEmpty(): void {
    for (let command: Command | null = this; command; command = command.parent) {
      for (const option of command.options) {
        const isEmpty = [command.getOptionValue(option.attributeName())].flat().includes('');
        if (isEmpty) throw new TidemarkError('USAGE', `${option.long} must not be empty`);
      }
    }
    if (this.args.includes('')) throw new TidemarkError('USAGE', 'an argument must not be empty');
  }

  /** An option of `findings` would do nothing with `findings accept`; those of the program are for all commands. @throws TidemarkError USAGE */
  #refuseOfParent(): void {
    const { parent } = this;
    if (!parent?.parent) return;
    const given = parent.options.find((option) => parent.getOptionValueSource(option.attributeName()) === 'cli');
    if (given) throw new TidemarkError('USAGE', `${given.long} is no option of ${this.#path()}`);
  }

  /** Takes what it does from `templates/commands.txt`, with the examples that end its help; its subcommands as well. */
  document(): void {
    const { summary, description, examples } = this.readTexts();
    this.summary(summary).description(description);
    for (const option of this.options) if (option.mandatory) option.description += '; required';
    this.addHelpText('after', () => `\n${this.createHelp().styleTitle('Examples:')}\n${examples}`);
    for (const each of this.commands) each.document();
  }

  /** Its section of `templates/commands.txt`. Of each example, the first line says in the imperative what the second does. */
  readTexts() {
    texts ??= readFileSync(join(PACKAGE_ROOT, 'templates', 'commands.txt'), 'utf8').split(/^(?=\S)/mu);
    const start = `${this.#path()}: `;
    const section = texts.find((text) => text.startsWith(start)) ?? start;
    const [about = '', ...examples] = section.slice(start.length).trimEnd().split('\n\n');
    const [summary = '', description = summary] = about.split('\n');
    return { summary, description: description.trim(), examples: `${examples.join('\n\n')}\n` };
  }

  /** `playbook plan` */
  #path(): string {
    const parent = this.parent as DocumentedCommand | null;
    return parent?.parent ? `${parent.#path()} ${this.name()}` : this.name();
  }
}

/** What an option or argument that names a moment takes (`resolveMoment`). */
export const MOMENT = 'yesterday, last monday, -7d, a date, a time or a run';

/** A parser of a number without a sign. @param bounds what the message says */
export const whole = (bounds: string, max = Number.POSITIVE_INFINITY, pattern = /^\d+$/u) => {
  return (text: string): number => {
    if (pattern.test(text) && Number(text) <= max) return Number(text);
    throw new InvalidArgumentError(`must be ${bounds}`);
  };
};
const fromOne = (max: number) => whole(`a whole number from 1 to ${max}`, max, /^[1-9]\d*$/u);

export const wholeNumber = whole('a whole number of 0 or more');
export const positiveNumber = whole('a whole number above 0', undefined, /^[1-9]\d*$/u);
export const shards = fromOne(MAX_SHARDS);
export const seconds = fromOne(MAX_SECONDS);
/** 0 selects a free one. */
export const port = whole('a port from 0 to 65535', 65_535);
export const days = whole('a whole number from 0 to 3650', 3650);

export function timestamp(text: string): Date {
  const date = parseTimestamp(text);
  const year = date?.getUTCFullYear() ?? 0;
  if (date && year >= 1000 && year < 9000) return date; // those of the days around it must have four digits as well
  throw new InvalidArgumentError('must be a timestamp such as 2026-11-20 or 2026-11-20T02:15:00Z');
}

export function percentage(text: string): number {
  const value = Number(text);
  if (!/^\d+(?:\.\d+)?$/u.test(text) || value <= 0 || value > 100) {
    throw new InvalidArgumentError('must be above 0 and at most 100');
  }
  return value;
}

/** Parser of a repeatable option, or of words. @throws TidemarkError USAGE if the text is not NAME=VALUE. */
export function parseParam(pair: string, previous: Readonly<Record<string, string>> = {}) {
  const at = pair.indexOf('=');
  if (at < 1) throw new TidemarkError('USAGE', `${pair} is not NAME=VALUE`);
  return { ...previous, [pair.slice(0, at)]: pair.slice(at + 1) };
}
