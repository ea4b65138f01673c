import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Argument, Option } from 'commander';
import { PACKAGE_ROOT, version } from '../core/paths.ts';
import type { DocumentedCommand } from './define.ts';
import { defineProgram } from './index.ts';

/**
 * The manual page of the command line in the language of roff: `templates/tidemark.1` with what the help of the commands says.
 * @param date of the page, as YYYY-MM-DD
 */
export async function formatManPage(date: string): Promise<string> {
  const program = await defineProgram();
  const parts: Readonly<Record<string, string>> = {
    date,
    version: toRoff(version),
    description: toRoff(program.description()),
    options: program.createHelp().visibleOptions(program).map(formatOption).join('\n'),
    commands: program.commands.flatMap((command) => formatCommand(command, command.name())).join('\n'),
  };
  const template = await readFile(join(PACKAGE_ROOT, 'templates', 'tidemark.1'), 'utf8');
  return template.replaceAll(/\{\{(\w+)\}\}/gu, (_, name: string) => parts[name] ?? '');
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
