import { createInterface, type Interface } from 'node:readline';
import { completeSql, readNames } from '../ask/query/completion.ts';
import { type QueryRequest, queryConfig } from '../ask/query/protocol.ts';
import type { QueryProcess } from '../ask/query/query-process.ts';
import { fillSavedQuery, findSavedQuery, loadSavedQueries } from '../ask/query/saved.ts';
import type { Config } from '../config/config.ts';
import { type LinkedSignal, linkSignals } from '../core/abort.ts';
import { FORMATS, type Format } from '../core/choices.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { printError } from '../core/log.ts';
import { overlayRoots } from '../core/paths.ts';
import { createSqlFiles } from '../warehouse/sql-files.ts';
import { isTerminated } from '../warehouse/sql-params.ts';
import { parseParam } from './define.ts';
import { readPublishedMoment } from './options.ts';
import { guardTerminal, listSavedQueries, selectScreen } from './output.ts';
import { HISTORY_LENGTH, openHistory } from './shell-history.ts';

/** What the shell starts with; its commands change it. */
export interface ShellSettings {
  readonly asOf?: string;
  readonly format?: Format;
  readonly maxRows?: number;
  readonly timeout?: number;
}

const PROMPT = 'tidemark> ';
const CONTINUATION = '     ...> ';

/**
 * Reads statements and commands from the terminal until `.quit` or Ctrl-D. A statement ends with a semicolon. The settings of the shell
 * are kept here, so that they outlive a process of `queries` that is killed.
 */
export async function runShell(context: Context, config: Config, settings: ShellSettings, queries: QueryProcess) {
  const { console: terminal } = context;
  if (!terminal) throw new TidemarkError('USAGE', 'the shell needs a terminal');
  const names = readNames(createSqlFiles(overlayRoots(config.directory)));
  const history = await openHistory(context);
  const lines = createInterface({
    ...terminal,
    prompt: PROMPT,
    history: [...history.lines],
    historySize: HISTORY_LENGTH,
    removeHistoryDuplicates: true,
    completer: (line: string) => complete(line, names),
  });
  const shell = new Shell(context, config, settings, lines, queries);
  context.signal.addEventListener('abort', () => lines.close(), { once: true });
  lines.on('SIGINT', () => shell.interrupt());
  context.stdout('Type .help for help. A statement ends with a semicolon.\n');
  let typed: readonly string[] | undefined;
  lines.on('history', (entries: readonly string[]) => {
    typed = entries;
  });
  const accepted = lines[Symbol.asyncIterator](); // keeps what is typed before the first prompt
  try {
    if (settings.asOf !== undefined) await shell.setTime(settings.asOf);
    lines.prompt();
    for await (const line of accepted) {
      await shell.accept(line);
      if (shell.isDone) break;
    }
  } finally {
    lines.close();
    terminal.input.unref(); // the keys that Ctrl-C writes resume it
  }
  context.stdout('\n');
  if (typed) await history.write(typed);
}

function complete(line: string, names: Parameters<typeof completeSql>[1]): [string[], string] {
  if (line.startsWith('.')) {
    const [command = '', ...rest] = line.split(/\s+/u);
    if (rest.length === 0) return [[...COMMANDS.keys()].filter((name) => name.startsWith(command)), command];
    const word = rest.at(-1) ?? '';
    const values = command === '.mode' ? FORMATS : [...names.keys()];
    return [values.filter((value) => value.startsWith(word)), word];
  }
  const [candidates, word] = completeSql(line, names);
  return [[...candidates], word];
}

class Shell {
  isDone = false;
  readonly #context: Context;
  readonly #config: Config;
  readonly #lines: Interface;
  readonly #queries: QueryProcess;
  #settings: ShellSettings;
  #asOf: Date | undefined;
  #isTimed = false;
  /** Lines of a statement that has not ended. */
  #pending: string[] = [];
  #running: LinkedSignal | undefined;

  constructor(context: Context, config: Config, settings: ShellSettings, lines: Interface, queries: QueryProcess) {
    this.#context = context;
    this.#config = config;
    this.#settings = settings;
    this.#lines = lines;
    this.#queries = queries;
  }

  /** Ctrl-C stops a query that runs; otherwise it discards what was typed. */
  interrupt(): void {
    if (this.#running) {
      this.#running.abort(new TidemarkError('INTERRUPTED', 'the query was stopped'));
      return;
    }
    this.#pending = [];
    this.#context.stdout('^C\n');
    // `line` of an interface can only be emptied by the keys that do so.
    this.#lines.write(null, { ctrl: true, name: 'e' });
    this.#lines.write(null, { ctrl: true, name: 'u' });
    this.#prompt();
  }

  async accept(line: string): Promise<void> {
    try {
      const command = this.#pending.length === 0 ? toCommand(line.trim()) : undefined;
      if (command !== undefined) await this.#runCommand(command);
      else await this.#acceptSql(line);
    } catch (error) {
      this.#report(error);
    }
    if (!this.isDone) this.#prompt();
  }

  async #acceptSql(line: string): Promise<void> {
    if (this.#pending.length === 0 && line.trim() === '') return;
    this.#pending.push(line);
    const statement = this.#pending.join('\n');
    if (!isTerminated(statement)) return;
    this.#pending = [];
    await this.#runQuery({ query: statement, params: {} });
  }

  async #runQuery(request: Pick<QueryRequest, 'query' | 'params'>): Promise<void> {
    const { format = 'table', timeout, maxRows } = this.#settings;
    const config = queryConfig(this.#config, timeout);
    const screen = selectScreen(this.#context, maxRows);
    const running = linkSignals(this.#context.signal);
    this.#running = running;
    const started = performance.now();
    try {
      const query = { ...request, config, asOf: this.#asOf, format, screen };
      await this.#queries.run(query, guardTerminal(this.#context, format), running.signal);
    } finally {
      running.release();
      this.#running = undefined;
    }
    if (this.#isTimed) this.#say(`${((performance.now() - started) / 1000).toFixed(3)} s`);
  }

  async #runCommand(line: string): Promise<void> {
    const [name = '', ...words] = line.split(/\s+/u);
    const command = COMMANDS.get(name);
    if (!command) throw new TidemarkError('USAGE', `unknown command ${name}`, { hint: 'see .help' });
    await command(this, words);
  }

  async showTables(name?: string): Promise<void> {
    return (await import('./tables.ts')).tables({ ...this.#context, json: false }, name);
  }

  setMode(format: string | undefined): void {
    const found = FORMATS.find((known) => known === format && known !== 'parquet' && known !== 'xlsx');
    if (!found) throw new TidemarkError('USAGE', '.mode is table, line, csv, json, ndjson or markdown');
    this.#settings = { ...this.#settings, format: found };
  }

  async setTime(text: string): Promise<void> {
    const isPresent = text === '' || text === 'now';
    this.#asOf = isPresent ? undefined : (await readPublishedMoment(this.#context, this.#config, text)).at;
    this.#say(this.#asOf ? `tables show ${this.#asOf.toISOString()}` : 'tables show the last pulls');
  }

  setTimer(state: string | undefined): void {
    if (state !== 'on' && state !== 'off') throw new TidemarkError('USAGE', '.timer is on or off');
    this.#isTimed = state === 'on';
  }

  setMaxRows(text: string | undefined): void {
    if (text === undefined || !/^\d+$/u.test(text)) {
      throw new TidemarkError('USAGE', '.max_rows is a number; 0 for all');
    }
    this.#settings = { ...this.#settings, maxRows: Number(text) };
  }

  async runSaved([name, ...params]: readonly string[]): Promise<void> {
    const queries = loadSavedQueries(overlayRoots(this.#config.directory));
    if (name === undefined) return listSavedQueries({ ...this.#context, json: false }, queries);
    const given = params.reduce((values, word) => parseParam(word, values), {});
    await this.#runQuery(fillSavedQuery(findSavedQuery(queries, name), given));
  }

  leave(): void {
    this.isDone = true;
  }

  showHelp(): void {
    const list = HELP.map(([usage, does]) => `  ${usage.padEnd(24)}${does}\n`).join('');
    this.#say(
      `${list}Ctrl-C stops a query, Ctrl-D leaves the shell, Tab completes names. \\d, exit and quit work as elsewhere.`,
    );
  }

  #prompt(): void {
    this.#lines.setPrompt(this.#pending.length > 0 ? CONTINUATION : PROMPT);
    this.#lines.prompt();
  }

  #say(text: string): void {
    this.#context.stdout(`${text}\n`);
  }

  #report(error: unknown): void {
    if (!(error instanceof TidemarkError)) throw error;
    this.#context.stderr(printError(error, this.#context.colors));
  }
}

type RunCommand = (shell: Shell, words: readonly string[]) => void | Promise<void>;

const HELP: readonly (readonly [usage: string, does: string, run: RunCommand])[] = [
  ['.tables', 'list the tables', (shell) => shell.showTables()],
  ['.schema TABLE', 'list the columns of a table with their meaning', (shell, [table]) => shell.showTables(table)],
  ['.mode FORMAT', 'table, line, csv, json, ndjson or markdown', (shell, [mode]) => shell.setMode(mode)],
  ['.max_rows N', 'rows that a table shows; 0 for all', (shell, [rows]) => shell.setMaxRows(rows)],
  [
    '.as_of MOMENT|now',
    'show every table as of a moment, such as yesterday',
    (shell, words) => shell.setTime(words.join(' ')),
  ],
  ['.timer on|off', 'print the time of each query', (shell, [state]) => shell.setTimer(state)],
  ['.saved [NAME P=VALUE…]', 'list the saved queries, or run one', (shell, words) => shell.runSaved(words)],
  ['.help', 'show this help', (shell) => shell.showHelp()],
  ['.quit', 'leave the shell', (shell) => shell.leave()],
];

const COMMANDS: ReadonlyMap<string, RunCommand> = new Map(
  HELP.map(([usage, , run]) => [usage.split(' ', 1)[0] ?? '', run]),
);

/** What people of other shells type. */
const ALIASES: Readonly<Record<string, string>> = {
  '\\d': '.schema',
  '\\dt': '.tables',
  '\\q': '.quit',
  '\\?': '.help',
  exit: '.quit',
  quit: '.quit',
  help: '.help',
};

/** The command of a line, unless it begins a statement. */
export function toCommand(line: string): string | undefined {
  if (line.startsWith('.')) return line;
  const [word = '', ...rest] = line.replace(/;$/u, '').split(/\s+/u);
  const name = ALIASES[word.toLowerCase()];
  if (name === undefined) return word.startsWith('\\') ? word : undefined;
  return name === '.schema' && rest.length === 0 ? '.tables' : [name, ...rest].join(' ');
}
