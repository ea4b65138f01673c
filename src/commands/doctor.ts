import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadConfig } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { EXIT } from '../core/errors.ts';
import { type Check, examine } from '../pipeline/examine.ts';
import { textTable } from './text-table.ts';

export function registerDoctor(program: Command, context: () => Context): void {
  program
    .command('doctor')
    .description('per target: reachable, token good, each source permitted, rate limit, clock; warehouse; mail')
    .action(() => doctor(context()));
}

async function doctor(context: Context): Promise<void> {
  const config = loadConfig(resolve(context.cwd, context.configFile), context.env, context.redactor);
  const checks = await examine(config, context);
  if (context.json) context.stdout(`${JSON.stringify(checks, null, 2)}\n`);
  else context.stdout(`${textTable(['', 'about', 'check', 'detail'], checks.map(lineOf))}\n`);
  const failed = checks.filter(({ ok }) => !ok);
  if (failed.length > 0) context.exit(failed.length === checks.length ? EXIT.nothing : EXIT.incomplete);
}

function lineOf({ ok, about, check, detail }: Check): readonly string[] {
  return [ok ? 'ok' : 'FAIL', about, check, detail];
}
