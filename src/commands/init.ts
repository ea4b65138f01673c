import { existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { PACKAGE_ROOT } from '../core/paths.ts';
import { writeResult } from './output.ts';

/** The commented examples that `init` copies. */
const TEMPLATES = join(PACKAGE_ROOT, 'templates');

export function registerInit(program: Command, context: () => Context): void {
  program
    .command('init')
    .description('write a commented tidemark.yaml and .env.example')
    .option('--force', 'replace existing files')
    .action((options: { force?: boolean }) => init(context(), options.force ?? false));
}

async function init(context: Context, force: boolean): Promise<void> {
  const config = resolve(context.cwd, context.configFile);
  const env = resolve(context.cwd, '.env.example');
  const existing = [config, env].find((file) => existsSync(file));
  if (existing && !force) {
    throw new TidemarkError('UNSAFE', `${basename(existing)} already exists`, {
      hint: 'replace it with `tidemark init --force`',
    });
  }
  await copyFile(join(TEMPLATES, 'tidemark.yaml'), config);
  await copyFile(join(TEMPLATES, 'env.example'), env);
  const written = [config, env];
  writeResult(context, { written }, () => {
    const lines = written.map((file) => `wrote ${basename(file)}\n`).join('');
    return `${lines}fill in your targets, then try \`tidemark doctor\`\n`;
  });
}
