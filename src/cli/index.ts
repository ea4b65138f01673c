import type { Option } from 'commander';
import { createColors } from '../core/color.ts';
import type { Context } from '../core/context.ts';
import { version } from '../core/paths.ts';
import type { DefineCommand, Perform, Switches, Texts } from './define.ts';
import { DocumentedCommand, timestamp } from './define.ts';

type LoadDefinition = () => Promise<{ readonly define: DefineCommand }>;

/** Every command, by its heading in the help of the program. scripts/bundle.js makes each `import()` load the definition alone. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, LoadDefinition>>>> = {
  'First steps:': {
    init: () => import('./init.ts'),
    demo: () => import('./demo.ts'),
    sandbox: () => import('./sandbox.ts'),
    doctor: () => import('./doctor.ts'),
    permissions: () => import('./permissions.ts'),
  },
  'Every night:': {
    pull: () => import('./pull.ts'),
    run: () => import('./run.ts'),
    schedule: () => import('./schedule.ts'),
    mail: () => import('./mail.ts'),
    status: () => import('./status.ts'),
  },
  'Ask:': {
    sql: () => import('./sql.ts'),
    serve: () => import('./serve.ts'),
    tables: () => import('./tables.ts'),
    report: () => import('./report.ts'),
    show: () => import('./show.ts'),
    diff: () => import('./diff.ts'),
    policy: () => import('./policy.ts'),
  },
  'Act:': {
    findings: () => import('./findings.ts'),
    playbook: () => import('./playbook.ts'),
    api: () => import('./api.ts'),
  },
  'Keep:': {
    export: () => import('./export.ts'),
    lake: () => import('./lake.ts'),
    backup: () => import('./backup.ts'),
    lifecycle: () => import('./lifecycle.ts'),
    prune: () => import('./prune.ts'),
    completion: () => import('./completion.ts'),
  },
};

/** Adds every command. Those that `words` name have their options and help; the others only say what they do. */
export async function addCommands(program: DocumentedCommand, words: readonly string[]): Promise<DocumentedCommand> {
  for (const [group, commands] of Object.entries(GROUPS)) {
    for (const [name, load] of Object.entries(commands)) {
      const command = program.command(name).helpGroup(group);
      if (words.includes(name)) (await load()).define(command);
      command.document();
    }
  }
  return program;
}

/** The command line, none of whose commands can run: for help, completion and the manual. @param words as for `addCommands` */
export function defineProgram(words: readonly string[] = Object.values(GROUPS).flatMap(Object.keys)) {
  const output = { stdout: () => {}, stderr: () => {}, colors: createColors(false) };
  const program = createProgram(output, async () => {});
  return addCommands(program, words);
}

/** Values of the global options. */
export interface GlobalOptions extends Texts<'shard'>, Switches<'json' | 'quiet' | 'wide'> {
  readonly config: string;
  readonly now?: Date;
}

/** The command line with its global options and the style of its help, without commands. */
export function createProgram(
  { stdout, stderr, colors }: Pick<Context, 'stdout' | 'stderr' | 'colors'>,
  perform: Perform,
): DocumentedCommand {
  const program = new DocumentedCommand('tidemark', perform);
  return program
    .description(
      'Nightly history of an infrastructure-as-code estate: pull, compare, report, and apply approved changes.',
    )
    .option('--config <file>', 'configuration file', './tidemark.yaml')
    .option('--json', 'print the result as JSON')
    .option('--quiet', 'print warnings and errors only')
    .option('--wide', 'print tables as wide as they are, where a terminal would cut them')
    .option('--no-color', 'print without colour')
    .option('--now <timestamp>', 'use this as the current time', timestamp)
    .option('--shard <number/count>', 'only this part of the targets, with its own warehouse (TIDEMARK_SHARD)')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help for a command')
    .helpCommand('help [command]', 'show help for a command')
    .showSuggestionAfterError()
    .addHelpText('after', FIRST_STEPS)
    .exitOverride()
    .configureHelp({
      showGlobalOptions: true,
      visibleGlobalOptions(command) {
        const above = Object.getPrototypeOf(this).visibleGlobalOptions.call(this, command);
        return above.filter((option: Option) => program.options.includes(option));
      },
      styleTitle: (title) => colors.bold(title),
      subcommandTerm(command) {
        const isListed = command.parent?.parent === null; // the help of the program names commands only
        return isListed ? command.name() : Object.getPrototypeOf(this).subcommandTerm.call(this, command);
      },
    })
    .configureOutput({
      writeOut: stdout,
      writeErr: stderr,
      getOutHasColors: () => colors.isColorSupported,
      getErrHasColors: () => false,
    });
}

const FIRST_STEPS = `
To see it work:     tidemark demo
On your services:   tidemark init, then doctor, then run nightly
What a command has: tidemark COMMAND --help
`;
