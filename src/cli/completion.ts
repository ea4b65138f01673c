import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Argument } from 'commander';
import { SHELLS } from '../core/choices.ts';
import { PACKAGE_ROOT } from '../core/paths.ts';
import type { DefineCommand } from './define.ts';

export const define: DefineCommand = (command, context) =>
  command
    .addArgument(new Argument('<shell>', 'shell that runs the script').choices([...SHELLS]))
    .action(async (shell: string) =>
      context().stdout(await readFile(join(PACKAGE_ROOT, 'templates', 'completion', shell), 'utf8')),
    )
    .examples(
      ['source <(tidemark completion bash)', 'complete in this shell; add the line to ~/.bashrc'],
      ['tidemark completion zsh > ~/.zfunc/_tidemark', 'install for zsh, in a folder of $fpath'],
      ['tidemark completion fish > ~/.config/fish/completions/tidemark.fish', 'install for fish'],
    );
