import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Argument } from 'commander';
import { SHELLS } from '../core/choices.ts';
import type { Context } from '../core/context.ts';
import { PACKAGE_ROOT } from '../core/paths.ts';
import type { DefineCommand } from './define.ts';

export const define: DefineCommand = (command) =>
  command
    .addArgument(new Argument('<shell>', 'shell that runs the script').choices([...SHELLS]))
    .runs(() => import('./completion.ts'), 'completion');

export async function completion({ stdout }: Context, shell: string): Promise<void> {
  stdout(await readFile(join(PACKAGE_ROOT, 'templates', 'completion', shell), 'utf8'));
}
