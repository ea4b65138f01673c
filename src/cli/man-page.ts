import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PACKAGE_ROOT, version } from '../core/paths.ts';
import type { DocumentedCommand } from './define.ts';
import { defineProgram } from './index.ts';

/** A page is read with 80 columns, of which seven are its margin. */
const WIDTH = 73;

/**
 * The manual page of the command line in the language of roff: `templates/tidemark.1` with the help of every command.
 * @param date of the page, as YYYY-MM-DD
 */
export async function formatManPage(date: string): Promise<string> {
  const program = await defineProgram();
  const options = program.createHelp().visibleOptions(program);
  const parts: Readonly<Record<string, string>> = {
    date,
    version: toRoff(version),
    description: toRoff(program.description()),
    options: options.map(({ flags, description }) => `.TP\n.B "${toRoff(flags)}"\n${toRoff(description)}.`).join('\n'),
    commands: program.commands.flatMap((command) => formatCommand(command, `tidemark ${command.name()}`)).join('\n'),
  };
  const template = await readFile(join(PACKAGE_ROOT, 'templates', 'tidemark.1'), 'utf8');
  return template.replaceAll(/\{\{(\w+)\}\}/gu, (_, name: string) => parts[name] ?? '');
}

/** A command as its help shows it, and its subcommands after it. */
function formatCommand(command: DocumentedCommand, path: string): readonly string[] {
  let help = '';
  command
    .configureHelp({ ...command.configureHelp(), showGlobalOptions: false })
    .configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => WIDTH })
    .outputHelp();
  return [
    `.SS "${toRoff(path)}"\n.nf\n${toRoff(help.trim())}\n.fi`,
    ...command.commands.flatMap((each) => formatCommand(each, `${path} ${each.name()}`)),
  ];
}

/** Text in which roff finds no escape, no request and no hyphen of its own. */
function toRoff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('…', '...')
    .replaceAll(/^(?=[.'])/gmu, '\\&');
}
