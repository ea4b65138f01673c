import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Command, Option } from 'commander';
import { discoverFiles, overlayRoots, PACKAGE_ROOT } from '../core/paths.ts';
import { defineProgram, type GlobalOptions } from './index.ts';

/** A completion; its description may be empty. */
type Candidate = Readonly<Record<'value' | 'description', string>>;

/** Lists names from the configuration, if there is one, and from the package. */
type ListNames = (roots: readonly string[], configFile: string) => Promise<readonly (Candidate | string)[]>;

/** The names of each kind. They are read from files, since loading the code takes too long. */
const LISTS: Readonly<Record<string, ListNames>> = {
  jobs: async (roots) => listFiles(roots, 'jobs', '.yaml'),
  operations: listOperations,
  plans: listPlans,
  playbooks: listPlaybooks,
  queries: async (roots) => listFiles(roots, 'queries/saved', '.sql'),
  reports: listReports,
  rules: async (roots) => listFiles(roots, 'queries/findings', '.sql'),
  sources: listSources,
  tables: async (roots) => listFiles(roots, 'queries/tables', '.sql'),
  targets: listTargets,
};

/**
 * What completes the value of an option or an argument whose name does not say it: `--target`, `--rule` and `<plan>` do. Everything else is
 * free text or a file, which the shell completes.
 */
const KINDS: Readonly<Record<string, string>> = {
  '--accept-shrink': 'sources',
  '--saved': 'queries',
  'tables <name>': 'tables',
  'report <name>': 'reports',
  'playbook plan <name>': 'playbooks',
};

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

/** The words before the cursor: the command, how many arguments it has, and the option whose value is next. */
function parseWords(program: Command, words: readonly string[]) {
  let { config: configFile } = program.opts<GlobalOptions>();
  let command = program;
  let operands = 0;
  let pending: Option | undefined;
  let isAfterOptions = false; // after `--`, nothing is an option
  for (const word of words) {
    const [, name = '', value] = /^([^=]*)(?:=(.*))?$/su.exec(word) ?? [];
    if (pending) {
      if (pending.long === '--config') configFile = word;
      pending = undefined;
    } else if (isAfterOptions || !word.startsWith('-')) {
      const next = operands === 0 ? command.commands.find((each) => each.name() === word) : undefined;
      if (!next && (command !== program || word !== 'help')) operands++;
      command = next ?? command;
    } else if (word === '--') isAfterOptions = true;
    else if (value === undefined) {
      const option = findOption(command, name);
      pending = option?.required || option?.optional ? option : undefined;
    } else if (name === '--config') configFile = value;
  }
  return { command, operands, pending, isAfterOptions, configFile };
}

type ParsedWords = ReturnType<typeof parseWords>;

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

/** `playbook plan `, as the keys of `KINDS` begin. */
function namePath(command: Command): string {
  return command.parent ? `${namePath(command.parent)}${command.name()} ` : '';
}

function startingWith(candidates: readonly Candidate[], prefix: string): readonly Candidate[] {
  return candidates.filter(({ value }) => value.startsWith(prefix));
}

function listSubcommands(command: Command): readonly Candidate[] {
  const commands = command.createHelp().visibleCommands(command);
  return commands.map((each) => ({ value: each.name(), description: each.summary() || each.description() }));
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

/** The values of an option or an argument that a shell can take as one word. @param name as in `KINDS` */
async function listValues(
  taken: { readonly argChoices?: readonly string[] | undefined } | undefined,
  name: string,
  configFile: string,
): Promise<readonly Candidate[]> {
  const list = LISTS[KINDS[name] ?? `${/[a-z]+(?=>?$)/u.exec(name)?.[0]}s`];
  const roots = existsSync(configFile) ? overlayRoots(dirname(configFile)) : [PACKAGE_ROOT];
  const values = taken?.argChoices ?? (await list?.(roots, configFile)) ?? [];
  return values
    .map((each) => (typeof each === 'string' ? { value: each, description: '' } : each))
    .filter(({ value }) => /^\w[\w.@/-]*$/u.test(value));
}

function listFiles(roots: readonly string[], folder: string, extension: string): readonly string[] {
  return [...discoverFiles(roots, folder, extension).keys()];
}

/** A report is a template with a summary. */
async function listReports(roots: readonly string[]) {
  const hasSummary = (name: string) =>
    roots.some((root) => existsSync(join(root, 'queries', 'reports', name, 'summary.sql')));
  return listFiles(roots, 'reports', '.hbs').filter(hasSummary);
}

/** The headers of the tables name the sources that fill them, those of plugins too. */
async function listSources(roots: readonly string[]) {
  const tables = discoverFiles(roots, 'queries/tables', '.sql');
  const texts = await Promise.all([...tables.values()].map((file) => readFile(file, 'utf8')));
  const sources = texts.flatMap((text) => /^-- source: (\S+)/mu.exec(text)?.[1] ?? []);
  return [...new Set(sources)].sort();
}

async function listPlaybooks() {
  const { builtInPlaybooks } = await import('../act/playbooks/index.ts');
  return builtInPlaybooks.map(({ name }) => name).sort();
}

async function listOperations() {
  const text = await readFile(join(PACKAGE_ROOT, 'templates', 'completion', 'operations.tsv'), 'utf8');
  const rows = text.trimEnd().split('\n');
  return rows.map((row) => row.split('\t')).map(([value = '', description = '']) => ({ value, description }));
}

/** The parts of the configuration that complete names; the rest may be invalid. */
async function readPartialConfig(configFile: string) {
  const { parse } = await import('yaml');
  const content = parse(await readFile(configFile, 'utf8'), { maxAliasCount: 100 }) as unknown;
  return (content ?? {}) as { readonly data?: unknown; readonly targets?: unknown };
}

async function listTargets(_roots: readonly string[], configFile: string): Promise<readonly Candidate[]> {
  const { targets } = await readPartialConfig(configFile);
  return (Array.isArray(targets) ? targets : []).flatMap(({ name, kind }) =>
    typeof name === 'string' ? [{ value: name, description: typeof kind === 'string' ? kind : '' }] : [],
  );
}

async function listPlans(_roots: readonly string[], configFile: string) {
  const { data } = await readPartialConfig(configFile);
  return listFiles([resolve(dirname(configFile), typeof data === 'string' ? data : 'data')], 'plans', '.json');
}
