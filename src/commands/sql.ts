import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { Context } from '../core/context.ts';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { FORMATS, type Format, runQuery } from '../warehouse/query.ts';
import { parseTimestampOption, readConfig } from './options.ts';
import { printRows } from './output.ts';

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
    .description('run read-only SQL on the published warehouse; without QUERY or FILE, reads stdin')
    .argument('[query]', 'one SELECT statement')
    .option('-f, --file <file>', 'read the query from a file; - for stdin')
    .option('--param <name=value>', 'value of $name in the query; repeatable', parseParam, {})
    .option('--as-of <timestamp>', 'show every table as of this time')
    .addOption(new Option('--format <format>', 'output format').choices([...FORMATS]))
    .option('-o, --output <file>', 'write the result to a file')
    .action((query: string | undefined, options: Options) => sql(context(), query, options));
}

function parseParam(pair: string, previous: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const at = pair.indexOf('=');
  if (at < 1) throw new TidemarkError('USAGE', `--param ${pair} is not NAME=VALUE`);
  return { ...previous, [pair.slice(0, at)]: pair.slice(at + 1) };
}

async function sql(context: Context, query: string | undefined, options: Options): Promise<void> {
  const config = readConfig(context);
  const format = options.format ?? (context.json ? 'json' : 'table');
  const output = options.output === undefined ? undefined : resolve(context.cwd, options.output);
  if (output !== undefined && !existsSync(dirname(output))) {
    throw new TidemarkError('USAGE', `-o ${options.output}: folder ${dirname(output)} does not exist`);
  }
  if (format === 'parquet' && !output)
    throw new TidemarkError('USAGE', '--format parquet writes to a file', { hint: 'add -o FILE' });
  const asOf = options.asOf === undefined ? undefined : parseTimestampOption('--as-of', options.asOf);
  const text = await queryText(context, query, options.file);
  if (text.trim() === '') throw new TidemarkError('DATA', 'the query is empty');
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
    throw new TidemarkError('USAGE', `${file} cannot be read: ${errorMessage(error)}`, { cause: error });
  });
}
