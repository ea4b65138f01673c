import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Command, Option } from 'commander';
import { REGULAR_FILE, readNamedFile } from '../core/fs.ts';
import { discoverFiles, findFile, overlayRoots, PACKAGE_ROOT } from '../core/paths.ts';
import { defineProgram, type GlobalOptions } from './index.ts';

type List = (roots: readonly string[], configFile: string) => readonly string[] | Promise<readonly string[]>;

/**
 * The names of each kind, of the configuration, if there is one, and of the package: some with a tab and a description. They are read from
 * files, since loading the code takes too long.
 */
const LISTS: Readonly<Record<string, List>> = {
  jobs: (roots) => listFiles(roots, 'jobs', '.yaml'),
  operations: () => {
    const text = readFileSync(join(PACKAGE_ROOT, 'templates', 'completion', 'operations.tsv'), 'utf8');
    return text.trimEnd().split('\n');
  },
  plans: async (_, configFile) => {
    const { data } = await readPartialConfig(configFile);
    return listFiles([resolve(dirname(configFile), typeof data === 'string' ? data : 'data')], 'plans', '.json');
  },
  playbooks: async () => {
    const { builtInPlaybooks } = await import('../act/playbooks/index.ts');
    return builtInPlaybooks.map(({ name }) => name).sort();
  },
  queries: (roots) => listFiles(roots, 'queries/saved', '.sql'),
  /** A report is a template with a summary. */
  reports: (roots) => {
    const hasSummary = (name: string) => findFile(roots, join('queries', 'reports', name, 'summary.sql')) !== undefined;
    return listFiles(roots, 'reports', '.hbs').filter(hasSummary);
  },
  rules: (roots) => listFiles(roots, 'queries/findings', '.sql'),
  /** The headers of the tables name the sources that fill them, those of plugins too. */
  sources: (roots) => {
    const files = [...discoverFiles(roots, 'queries/tables', '.sql').values()];
    const sources = files.flatMap((file) => /^-- source: (\S+)/mu.exec(readNamedFile(file, REGULAR_FILE))?.[1] ?? []);
    return [...new Set(sources)].sort();
  },
  tables: (roots) => listFiles(roots, 'queries/tables', '.sql'),
  targets: async (_, configFile) => {
    const { targets } = await readPartialConfig(configFile);
    return (Array.isArray(targets) ? targets : []).map(({ name, kind }) => `${name ?? ''}\t${kind ?? ''}`);
  },
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
    const separate = separateValues(words);
    const program = await defineProgram(separate);
    const before = separate.slice(0, -1);
    const parsed = parseWords(program, before);
    const [assigned = ''] = /^--[a-z-]+=/u.exec(words.at(-1) ?? '') ?? [];
    if (assigned !== '' && !parsed.pending) return '';
    const named = before.lastIndexOf('--config');
    const configFile = named < 0 ? undefined : before[named + 1];
    const file = resolve(cwd, configFile ?? program.opts<GlobalOptions>().config);
    const current = separate.at(-1) ?? '';
    const candidates = (await findCandidates(parsed, current, file)).filter((line) => line.startsWith(current));
    return candidates.map((line) => `${assigned}${line}\n`).join('');
  } catch {
    return '';
  }
}

/** `--target=acme` as two words; bash makes three of it. */
function separateValues(words: readonly string[]): readonly string[] {
  return words.flatMap((word, index) => {
    const isAssignment = word === '=' && (words[index - 1] ?? '').startsWith('--');
    if (isAssignment) return index === words.length - 1 ? [''] : [];
    const [, name, value = ''] = /^(--[a-z-]+)=(.*)$/su.exec(word) ?? [];
    return name === undefined ? [word] : [name, value];
  });
}

/** The words before the cursor: the command, how many arguments it has, and the option whose value is next. */
function parseWords(program: Command, words: readonly string[]) {
  let command = program;
  let operands = 0;
  let pending: Option | undefined;
  let isAfterOptions = false; // after `--`, nothing is an option
  for (const word of words) {
    if (pending) pending = undefined;
    else if (isAfterOptions || !word.startsWith('-')) {
      const next = operands === 0 ? command.commands.find((each) => each.name() === word) : undefined;
      if (!next && (command !== program || word !== 'help')) operands++;
      command = next ?? command;
    } else if (word === '--') isAfterOptions = true;
    else {
      const option = listKnownOptions(command).find(({ long, short }) => long === word || short === word);
      pending = option?.required || option?.optional ? option : undefined;
    }
  }
  return { command, operands, pending, isAfterOptions };
}

type ParsedWords = ReturnType<typeof parseWords>;

/** Each a value, a tab and a description, which may be empty. */
async function findCandidates(parsed: ParsedWords, current: string, configFile: string): Promise<readonly string[]> {
  const { command, operands, pending, isAfterOptions } = parsed;
  if (pending) return listValues(pending, pending.long ?? '', configFile);
  if (current.startsWith('-') && !isAfterOptions)
    return listKnownOptions(command).flatMap(({ long, description }) => (long ? [`${long}\t${description}`] : []));
  const { registeredArguments: all } = command;
  const argument = all[operands] ?? all.findLast(({ variadic }) => variadic);
  const values = await listValues(argument, `${namePath(command)}<${argument?.name()}>`, configFile);
  if (operands > 0) return values;
  const commands = command.createHelp().visibleCommands(command);
  return [...commands.map((each) => `${each.name()}\t${each.summary() || each.description()}`), ...values];
}

/** `playbook plan `, as the keys of `KINDS` begin. */
function namePath(command: Command): string {
  return command.parent ? `${namePath(command.parent)}${command.name()} ` : '';
}

/** The options of a command and the global ones. */
function listKnownOptions(command: Command): readonly Option[] {
  const help = command.createHelp();
  const inherited = command.parent ? help.visibleGlobalOptions(command) : [];
  return [...help.visibleOptions(command), ...inherited];
}

/** The values of an option or an argument that a shell can take as one word. @param name as in `KINDS` */
async function listValues(
  taken: { readonly argChoices?: readonly string[] | undefined } | undefined,
  name: string,
  configFile: string,
): Promise<readonly string[]> {
  const list = LISTS[KINDS[name] ?? `${/[a-z]+(?=>?$)/u.exec(name)?.[0]}s`];
  const roots = existsSync(configFile) ? overlayRoots(dirname(configFile)) : [PACKAGE_ROOT];
  const values = taken?.argChoices ?? (await list?.(roots, configFile)) ?? [];
  return values
    .map((each) => (each.includes('\t') ? each : `${each}\t`))
    .filter((line) => /^\w[\w.@/-]*\t/u.test(line));
}

function listFiles(roots: readonly string[], folder: string, extension: string): readonly string[] {
  return [...discoverFiles(roots, folder, extension).keys()];
}

/** The parts of the configuration that complete names; the rest may be invalid. */
async function readPartialConfig(configFile: string) {
  const { parse } = await import('yaml');
  const content = parse(readNamedFile(configFile, REGULAR_FILE), { maxAliasCount: 100 }) as unknown;
  return (content ?? {}) as { readonly data?: unknown; readonly targets?: unknown };
}
