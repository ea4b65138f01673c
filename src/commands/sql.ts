import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { parseTimestamp } from '../core/clock.ts';
import { loadConfig } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { messageOf, TidemarkError } from '../core/errors.ts';
import { FORMATS, type Format, runQuery } from '../warehouse/query.ts';
import { printRows } from './rows.ts';

interface Options {
  readonly file?: string;
  readonly param: Readonly<Record<string, string>>;
  readonly asOf?: string;
  readonly format?: Format;
  readonly output?: string;
}

export function registerSql(program: Command, context: () => Context): void {
  program
    .command('sql')
    .description('read-only SQL over the published warehouse; a query without QUERY or FILE is read from stdin')
    .argument('[query]', 'one SELECT')
    .option('-f, --file <file>', 'read the query from a file; - for stdin')
    .option('--param <name=value>', 'value of $name in the query; repeatable', param, {})
    .option('--as-of <timestamp>', 'every table shows what was known at this moment')
    .addOption(new Option('--format <format>', 'how to print the rows').choices([...FORMATS]))
    .option('-o, --output <file>', 'write the result to a file')
    .action((query: string | undefined, options: Options) => sql(context(), query, options));
}

function param(pair: string, previous: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const at = pair.indexOf('=');
  if (at < 1) throw new TidemarkError('USAGE', `--param ${pair}: give NAME=VALUE`);
  return { ...previous, [pair.slice(0, at)]: pair.slice(at + 1) };
}

async function sql(context: Context, query: string | undefined, options: Options): Promise<void> {
  const config = loadConfig(resolve(context.cwd, context.configFile), context.env, context.redactor);
  const format = options.format ?? (context.json ? 'json' : 'table');
  const output = options.output === undefined ? undefined : resolve(context.cwd, options.output);
  if (output !== undefined && !existsSync(dirname(output))) {
    throw new TidemarkError('USAGE', `-o ${options.output}: there is no folder ${dirname(output)}`);
  }
  if (format === 'parquet' && !output)
    throw new TidemarkError('USAGE', '--format parquet writes to a file', { hint: 'name one with -o FILE' });
  const asOf = options.asOf === undefined ? undefined : parseTimestamp(options.asOf);
  if (options.asOf !== undefined && !asOf) {
    throw new TidemarkError('USAGE', `--as-of ${options.asOf} is no timestamp`, {
      hint: 'give one such as 2026-11-20',
    });
  }
  const text = await queryText(context, query, options.file);
  if (text.trim() === '') throw new TidemarkError('DATA', 'one statement is expected, none came');
  const result = await runQuery({
    config,
    query: text,
    params: options.param,
    signal: context.signal,
    ...(asOf && { asOf }),
    ...(format === 'parquet' && output && { parquet: output }),
  });
  if (format !== 'parquet') await printRows(context, result, format, output);
}

async function queryText(context: Context, query: string | undefined, file: string | undefined): Promise<string> {
  if (query !== undefined && file !== undefined) throw new TidemarkError('USAGE', 'give a query or -f FILE, not both');
  if (query !== undefined) return query;
  if (file === undefined && context.stdinIsTerminal)
    throw new TidemarkError('USAGE', 'no query given', { hint: 'try: tidemark sql "from workspaces"' });
  if (file === undefined || file === '-') return context.readStdin();
  return readFile(resolve(context.cwd, file), 'utf8').catch((error: unknown) => {
    throw new TidemarkError('USAGE', `${file} cannot be read: ${messageOf(error)}`, { cause: error });
  });
}
