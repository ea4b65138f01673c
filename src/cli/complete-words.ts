import { resolve } from 'node:path';
import type { Command, Option } from 'commander';
import { type Candidate, isNameKind, listNames, type NameKind } from './completion-names.ts';
import { defineProgram } from './index.ts';
import type { GlobalOptions } from './program.ts';

/**
 * What completes the value of an option or an argument whose name does not say it: `--target`, `--rule` and `<plan>` do. Everything else is
 * free text or a file, which the shell completes.
 */
const NAMES: Readonly<Record<string, NameKind>> = {
  '--accept-shrink': 'sources',
  '--saved': 'queries',
  'tables <name>': 'tables',
  'report <name>': 'reports',
  'playbook plan <name>': 'playbooks',
};

/** The words before the cursor, as commands and options. */
interface ParsedWords {
  command: Command;
  /** Number of arguments of the command so far. */
  operands: number;
  /** The option whose value is next. */
  pending: Option | undefined;
  /** After `--`, nothing is an option. */
  isAfterOptions: boolean;
  configFile: string;
}

/**
 * The candidates for the last of `words`, which follow the name of the program. Prints one per line, a tab, and its description.
 * An error prints nothing: a message in the middle of a command line helps nobody.
 */
export async function completeWords(words: readonly string[], cwd: string): Promise<string> {
  try {
    const joined = joinAssignments(words);
    const parsed = parseWords(await defineProgram(joined), joined.slice(0, -1));
    const candidates = await findCandidates(parsed, joined.at(-1) ?? '', resolve(cwd, parsed.configFile));
    return candidates.map(({ value, description }) => `${value}\t${description}\n`).join('');
  } catch {
    return '';
  }
}

/** bash makes three words of `--target=acme`. */
function joinAssignments(words: readonly string[]): readonly string[] {
  const joined: string[] = [];
  for (const word of words) {
    const last = joined.at(-1) ?? '';
    if (word === '=' && last.startsWith('--')) joined.push('');
    else if (joined.length > 1 && last === '' && word !== '') joined[joined.length - 1] = word;
    else joined.push(word);
  }
  return joined;
}

function parseWords(program: Command, words: readonly string[]): ParsedWords {
  const { config } = program.opts<GlobalOptions>();
  const parsed: ParsedWords = {
    command: program,
    operands: 0,
    pending: undefined,
    isAfterOptions: false,
    configFile: config,
  };
  for (const word of words) readWord(parsed, word);
  return parsed;
}

function readWord(parsed: ParsedWords, word: string): void {
  const { command, operands, pending } = parsed;
  if (pending) {
    if (pending.long === '--config') parsed.configFile = word;
    parsed.pending = undefined;
  } else if (parsed.isAfterOptions || !word.startsWith('-')) {
    const next = operands === 0 ? command.commands.find((each) => each.name() === word) : undefined;
    if (next) parsed.command = next;
    else if (command.parent !== null || word !== 'help') parsed.operands++;
  } else if (word === '--') parsed.isAfterOptions = true;
  else {
    const [, name = '', value] = /^([^=]*)(?:=(.*))?$/su.exec(word) ?? [];
    const option = findOption(command, name);
    if (value === undefined) parsed.pending = option?.required || option?.optional ? option : undefined;
    else if (name === '--config') parsed.configFile = value;
  }
}

async function findCandidates(parsed: ParsedWords, current: string, configFile: string): Promise<readonly Candidate[]> {
  const { command, operands, pending, isAfterOptions } = parsed;
  const [, name, value = ''] = /^(--[a-z-]+)=(.*)$/u.exec(current) ?? [];
  if (name !== undefined && !pending) {
    const found = await listValues(findOption(command, name), name, configFile);
    return startingWith(found, value).map((each) => ({ ...each, value: `${name}=${each.value}` }));
  }
  if (pending) return startingWith(await listValues(pending, pending.long ?? '', configFile), current);
  if (current.startsWith('-') && !isAfterOptions) return startingWith(listOptions(command), current);
  const { registeredArguments: all } = command;
  const argument = all[operands] ?? all.findLast(({ variadic }) => variadic);
  const values = await listValues(argument, `${namePath(command)}<${argument?.name()}>`, configFile);
  return startingWith([...(operands === 0 ? listSubcommands(command) : []), ...values], current);
}

/** `playbook plan `, as the keys of `NAMES` begin. */
function namePath(command: Command): string {
  return command.parent ? `${namePath(command.parent)}${command.name()} ` : '';
}

function startingWith(candidates: readonly Candidate[], prefix: string): readonly Candidate[] {
  return candidates.filter(({ value }) => value.startsWith(prefix));
}

function listSubcommands(command: Command): readonly Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((each) => ({ value: each.name(), description: each.summary() || each.description() }));
}

/** The options of a command and the global ones. */
function listKnownOptions(command: Command): readonly Option[] {
  const help = command.createHelp();
  const inherited = command.parent ? help.visibleGlobalOptions(command) : [];
  return [...help.visibleOptions(command), ...inherited];
}

function listOptions(command: Command): readonly Candidate[] {
  return listKnownOptions(command).flatMap(({ long, description }) => (long ? [{ value: long, description }] : []));
}

function findOption(command: Command, name: string): Option | undefined {
  return listKnownOptions(command).find(({ long, short }) => long === name || short === name);
}

/** The values of an option or an argument, which has `name` among `NAMES`. */
async function listValues(
  taken: { readonly argChoices?: readonly string[] | undefined } | undefined,
  name: string,
  configFile: string,
): Promise<readonly Candidate[]> {
  if (taken?.argChoices) return taken.argChoices.map((value) => ({ value, description: '' }));
  const kind = NAMES[name] ?? `${/[a-z]+(?=>?$)/u.exec(name)?.[0]}s`;
  return isNameKind(kind) ? listNames(kind, configFile) : [];
}
