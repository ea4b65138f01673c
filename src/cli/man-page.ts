import type { Argument, Option } from 'commander';
import { EXIT } from '../core/errors.ts';
import { version } from '../core/paths.ts';
import type { DocumentedCommand } from './define.ts';
import { defineProgram } from './index.ts';

const EXIT_STATUS: Readonly<Record<keyof typeof EXIT, string>> = {
  done: 'Complete.',
  incomplete: 'Incomplete: a source failed, was quarantined or is partial, or an action failed.',
  usage: 'Wrong usage or configuration. All problems are listed at once, with file and field.',
  unavailable: 'Unavailable: the remote service refused or could not be reached.',
  data: 'Invalid data: a file, row or query is not as declared.',
  findings: 'Findings at or above the severity of --fail-on.',
  unsafe: 'Unsafe: lock held, plan changed, not approved or expired, limit exceeded, or --yes missing.',

  bug: 'A bug. The stack trace is printed.',
  interrupted: 'Stopped by Ctrl-C.',
};

const FILES: readonly (readonly [string, string])[] = [
  ['tidemark.yaml', 'Configuration. Paths in it are relative to it.'],
  ['.env', 'Variables beside the configuration. They never override the environment.'],
  ['jobs/, queries/, reports/', 'Beside the configuration: files that add to those of the package, or replace them.'],
  ['data/warehouse.duckdb', 'The published warehouse.'],
];

const ENVIRONMENT: readonly (readonly [string, string])[] = [
  ['HTTPS_PROXY, HTTP_PROXY, NO_PROXY', 'Proxies for requests to the targets.'],
  ['NO_COLOR, FORCE_COLOR, CLICOLOR, CLICOLOR_FORCE', 'Whether output is coloured.'],
];

/**
 * The manual page of the command line in the language of roff, from the help of its commands.
 * @param date of the page, as YYYY-MM-DD
 */
export async function formatManPage(date: string): Promise<string> {
  const program = await defineProgram();
  return [
    `.TH TIDEMARK 1 "${date}" ${quote(`tidemark ${version}`)} "User Commands"`,
    '.SH NAME',
    `tidemark \\- ${toRoff('nightly history of an infrastructure estate')}`,
    '.SH SYNOPSIS',
    `.B tidemark\n${toRoff('[options] COMMAND [arguments]')}`,
    '.SH DESCRIPTION',
    toRoff(program.description()),
    '.SH GLOBAL OPTIONS',
    'They work before or after the command.',
    ...program.createHelp().visibleOptions(program).map(formatOption),
    '.SH COMMANDS',
    ...program.commands.flatMap((command) => formatCommand(command, command.name())),
    '.SH EXIT STATUS',
    ...Object.entries(EXIT).map(([name, code]) => formatItem(String(code), EXIT_STATUS[name as keyof typeof EXIT])),
    '.SH ENVIRONMENT',
    ...ENVIRONMENT.map(([name, text]) => formatItem(name, text)),
    '.SH FILES',
    ...FILES.map(([name, text]) => formatItem(name, text)),
    '',
  ].join('\n');
}

/** A command with its options and examples, and its subcommands after it. */
function formatCommand(command: DocumentedCommand, path: string): readonly string[] {
  const help = command.createHelp();
  const usage = [path, ...command.registeredArguments.map(formatUsage)].join(' ');
  return [
    `.SS ${quote(`tidemark ${usage}`)}`,
    toRoff(toSentence(command.description())),
    ...help
      .visibleArguments(command)
      .map((argument) => formatItem(argument.name(), help.argumentDescription(argument))),
    ...help
      .visibleOptions(command)
      .filter(({ long }) => long !== '--help')
      .map(formatOption),
    ...formatExamples(command),
    ...command.commands.flatMap((each) => formatCommand(each, `${path} ${each.name()}`)),
  ];

  function formatOption(option: Option): string {
    return formatItem(option.flags, help.optionDescription(option));
  }
}

function formatUsage(argument: Argument): string {
  const name = `${argument.name().toUpperCase()}${argument.variadic ? '...' : ''}`;
  return argument.required ? name : `[${name}]`;
}

function formatOption(option: Option): string {
  return formatItem(option.flags, option.description);
}

function formatExamples(command: DocumentedCommand): readonly string[] {
  const lines = command.listExamples().flatMap(([line, does]) => [toRoff(`# ${does}`), toRoff(line)]);
  return lines.length === 0 ? [] : ['.PP', 'Examples:', '.PP', '.EX', ...lines, '.EE'];
}

/** A tagged paragraph. */
function formatItem(tag: string, text: string): string {
  return `.TP\n.B ${quote(tag)}\n${toRoff(toSentence(text))}`;
}

function toSentence(text: string): string {
  const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
  return /[.!?]$/u.test(sentence) ? sentence : `${sentence}.`;
}

/** Text in which roff finds no escape, no request and no hyphen of its own. */
function toRoff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('…', '...')
    .replaceAll(/^(?=[.'])/gmu, '\\&');
}

/** One argument of a request. */
function quote(text: string): string {
  return `"${toRoff(text).replaceAll('"', '\\(dq')}"`;
}
