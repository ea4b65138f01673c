import { resolve } from 'node:path';
import type { Argument, Command, Option } from 'commander';
import { type Candidate, type CompletedNames, listNames, type NameKind } from './completion-names.ts';
import { defineProgram } from './index.ts';

/** What completes the value of an option or an argument. Everything else is free text or a file, which the shell completes. */
const NAMES: Readonly<Record<string, NameKind>> = {
  '--target': 'targets',
  '--source': 'sources',
  '--accept-shrink': 'sources',
  '--rule': 'rules',
  '--table': 'tables',
  '--playbook': 'playbooks',
  '--plan': 'plans',
  '--saved': 'queries',
  'run <job>': 'jobs',
  'mail <job>': 'jobs',
  'tables <name>': 'tables',
  'report <name>': 'reports',
  'playbook plan <name>': 'playbooks',
  'playbook show <plan>': 'plans',
  'playbook approve <plan>': 'plans',
  'playbook apply <plan>': 'plans',
  'playbook undo <plan>': 'plans',
  'api <operation>': 'operations',
};

/** The words before the cursor, as commands and options. */
interface ParsedWords {
  readonly command: Command;
  /** The words that select the command. */
  readonly path: readonly string[];
  /** Number of arguments of the command so far. */
  readonly operands: number;
  /** The option whose value is next. */
  readonly pending: Option | undefined;
  /** After `--`, nothing is an option. */
  readonly isAfterOptions: boolean;
  readonly configFile: string;
}

/**
 * The candidates for the last of `words`, which follow the name of the program. Prints one per line, a tab, and its description.
 * An error prints nothing: a message in the middle of a command line helps nobody.
 */
export async function completeWords(words: readonly string[], cwd: string): Promise<string> {
  try {
    const candidates = await findCandidates(joinAssignments(words), cwd);
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

async function findCandidates(words: readonly string[], cwd: string): Promise<readonly Candidate[]> {
  const current = words.at(-1) ?? '';
  const parsed = await parseWords(words.slice(0, -1));
  const names: CompletedNames = { cwd, configFile: resolve(cwd, parsed.configFile) };
  const assignment = /^(?<option>--[a-z-]+=)(?<value>.*)$/u.exec(current)?.groups;
  if (assignment && !parsed.pending) {
    const { option = '', value = '' } = assignment;
    const found = await listOptionValues(findOption(parsed.command, option.slice(0, -1)), names);
    return startingWith(found, value).map((each) => ({ ...each, value: `${option}${each.value}` }));
  }
  return startingWith(await listCandidates(parsed, current, names), current);
}

async function listCandidates(
  parsed: ParsedWords,
  current: string,
  names: CompletedNames,
): Promise<readonly Candidate[]> {
  const { command, path, operands, pending, isAfterOptions } = parsed;
  if (pending) return listOptionValues(pending, names);
  if (current.startsWith('-') && !isAfterOptions) return listOptions(command);
  const subcommands = operands === 0 ? listSubcommands(command) : [];
  const argument =
    command.registeredArguments[operands] ?? command.registeredArguments.findLast((last) => last.variadic);
  const values = argument === undefined ? [] : await listArgumentValues(path, argument, names);
  return [...subcommands, ...values];
}

function startingWith(candidates: readonly Candidate[], prefix: string): readonly Candidate[] {
  return candidates.filter(({ value }) => value.startsWith(prefix));
}

async function parseWords(words: readonly string[]): Promise<ParsedWords> {
  const command = await defineProgram(words);
  const begin: ParsedWords = {
    command,
    path: [],
    operands: 0,
    pending: undefined,
    isAfterOptions: false,
    configFile: command.opts().config,
  };
  return words.reduce(readWord, begin);
}

function readWord(parsed: ParsedWords, word: string): ParsedWords {
  const { command, path, operands, pending, isAfterOptions } = parsed;
  if (pending) return { ...parsed, pending: undefined, ...(pending.long === '--config' && { configFile: word }) };
  if (isAfterOptions || !word.startsWith('-')) {
    if (command.parent === null && path.length === 0 && word === 'help') return parsed;
    const next = operands === 0 ? command.commands.find((each) => each.name() === word) : undefined;
    return next ? { ...parsed, command: next, path: [...path, word] } : { ...parsed, operands: operands + 1 };
  }
  if (word === '--') return { ...parsed, isAfterOptions: true };
  const [, name = '', value] = /^([^=]*)(?:=(.*))?$/su.exec(word) ?? [];
  const option = findOption(command, name);
  if (value !== undefined) return name === '--config' ? { ...parsed, configFile: value } : parsed;
  return option?.required || option?.optional ? { ...parsed, pending: option } : parsed;
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

async function listOptionValues(option: Option | undefined, names: CompletedNames): Promise<readonly Candidate[]> {
  if (option?.argChoices) return option.argChoices.map((value) => ({ value, description: '' }));
  const kind = NAMES[option?.long ?? ''];
  return kind === undefined ? [] : listNames(kind, names);
}

async function listArgumentValues(
  path: readonly string[],
  argument: Argument,
  names: CompletedNames,
): Promise<readonly Candidate[]> {
  if (argument.argChoices) return argument.argChoices.map((value) => ({ value, description: '' }));
  const kind = NAMES[`${path.join(' ')} <${argument.name()}>`];
  return kind === undefined ? [] : listNames(kind, names);
}
