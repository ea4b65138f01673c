import type { Colors } from '../core/color.ts';
import { version } from '../core/paths.ts';
import { DocumentedCommand, type Perform, timestamp } from './define.ts';

export interface ProgramOutput {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  readonly colors: Colors;
}

/** Values of the global options. */
export interface GlobalOptions {
  readonly config: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly wide?: boolean;
  readonly now?: Date;
  readonly shard?: string;
}

/** The command line with its global options and the style of its help, without commands. */
export function createProgram({ stdout, stderr, colors }: ProgramOutput, perform: Perform): DocumentedCommand {
  return new DocumentedCommand('tidemark', perform)
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
