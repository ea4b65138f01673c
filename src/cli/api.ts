import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Config, getTarget, type Target } from '../config/config.ts';
import { findNamed } from '../config/suggest.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { readNamedFile } from '../core/fs.ts';
import { findRepeatedName, indentJson, parseJson, parseLossless } from '../core/json.ts';
import { ServiceError } from '../http/errors.ts';
import { collectSecrets } from '../services/build-request.ts';
import { mayBeDone } from '../services/classify-error.ts';
import { ServiceClients } from '../services/client.ts';
import type { DownloadResult } from '../services/download.ts';
import { operations } from '../services/index.ts';
import type { Args, Operation } from '../services/operation.ts';
import { formatOperationHelp, toOperationRow } from '../services/operation-docs.ts';
import {
  explainWrapping,
  findItems,
  isList,
  jsonOr,
  type ResponsePage,
  type ServiceResponse,
} from '../services/response.ts';
import { uncheckOperation, validateRequest } from '../services/validate-request.ts';
import { createTemporaryFolder } from '../warehouse/temporary-folder.ts';
import type { DefineCommand, Switches, Texts } from './define.ts';
import { readConfig } from './options.ts';
import { printJsonArray, toPrintable, writeResult } from './output.ts';

export const define: DefineCommand = (command) => {
  command
    .argument('[operation]', 'KIND.RESOURCE.VERB; see --list')
    .argument('[parameters...]', 'name=value; see --help OPERATION')
    .option('--target <name>', 'target to call; required where several of the kind are configured')
    .option('--body <json>', 'request body: JSON, @FILE, or - for standard input')
    .option('--all', 'follow every page and print one array')
    .option('--yes', 'change something without confirmation')
    .option('--create', 'let an update create what does not exist')
    .option('--unchecked', 'send parameters and filters of a read that the API documents do not list')
    .option('--list', 'list the operations')
    .helpOption(false)
    .option('-h, --help', 'show help, for an operation if one is given')
    .hook('preAction', () => {
      const { list, help } = command.opts<ApiFlags>();
      if (command.args.length === 0 && !list) command.help({ error: !help });
    })
    .runs(() => import('./api.ts'), 'api')
    .addHelpText(
      'after',
      '\nIt prints what the service answers, with the secrets in it: only\ntokens and passwords of the configuration are masked.',
    );
};

type ApiFlags = Texts<'target' | 'body'> & Switches<'all' | 'yes' | 'create' | 'list' | 'unchecked' | 'help'>;

export async function api(context: Context, name: string | undefined, parameters: string[], options: ApiFlags) {
  if (options.list) return listOperations(context);
  const documented = findNamed([...operations.values()], 'operation', name ?? '', 'see `tidemark api --list`');
  if (options.help) return context.stdout(formatOperationHelp(documented));
  checkOptions(documented, options);
  const args = parseArgs(documented, parameters);
  const operation = options.unchecked ? uncheckOperation(documented, args) : documented;
  const config = readConfig(context);
  const target = findTarget(config, operation, options.target);
  const body = await readBody(options.body, context);
  validateRequest(operation, target, args, body, context.log);
  if (operation.mutates && !options.yes) await confirm(context, operation, target, args);
  collectSecrets(operation, args, body, context.redactor);
  // Services echo secrets. What the call itself generates becomes known later than this copy, and is printed.
  const redactor = context.redactor.snapshot();
  const print = (text: string) => context.stream(toPrintable(context, redactor.text(text)));
  const clients = new ServiceClients(config, context, context.signal);
  const client = clients.get(target);
  // Only JSON shows that it was cut, and one answer may be of another form.
  const uncompressed = !options.all;
  const settings = { body, write: operation.mutates, create: options.create ?? false, uncompressed };
  try {
    if (options.all) {
      await printJsonArray(listAllItems(operation, client.pages(operation, args, settings)), print);
    } else if (operation.responseType === 'csv') {
      await printDownload(print, (file) => client.download(operation, args, file, settings));
    } else {
      const response = await client.call(operation, args, settings);
      const isWaiting = response.status === 202 || explainWrapping(jsonOr(response, undefined)) !== undefined;
      if (operation.mutates && isWaiting)
        context.log.warn(`${operation.name} is accepted, and may not be done: read what it changes`);
      await print(formatResponse(response));
    }
  } catch (error) {
    const isOpen = error instanceof ServiceError && error.details.operation === operation.name && mayBeDone(error);
    if (operation.mutates && isOpen)
      context.log.warn(`${operation.name} may have been done: read what it changes before you repeat it`);
    throw error;
  } finally {
    await clients.close();
  }
}

/** @throws TidemarkError USAGE for an option that does not apply to the operation */
function checkOptions(operation: Operation, { all, create, unchecked }: ApiFlags): void {
  const refuse = (option: string, problem: string) => {
    throw new TidemarkError('USAGE', `${operation.name}${problem}`, { hint: `remove ${option}` });
  };
  if (all && !isList(operation)) refuse('--all', ' is not a list: --all does not apply');
  if (create && !operation.subjectRead) refuse('--create', ': --create does not apply');
  if (unchecked && operation.mutates) refuse('--unchecked', ' changes something: --unchecked applies to reads only');
}

function findTarget(config: Config, { name: operation, kind }: Operation, requested: string | undefined): Target {
  if (requested !== undefined) return getTarget(config, requested);
  const all = config.targets.filter((target) => target.kind === kind);
  const [first, second] = all;
  if (first && !second) return first;
  const names = all.map(({ name }) => name).join(', ');
  const [problem, hint] = first
    ? ['--target is required: several targets of this kind are configured', `choose one: ${names}`]
    : ['no target of this kind is configured', `add one of kind ${kind} to \`targets\``];
  throw new TidemarkError('USAGE', `${operation}: ${problem}`, { hint });
}

/** @throws TidemarkError UNSAFE unless the change is confirmed on the terminal. */
async function confirm(context: Context, operation: Operation, target: Target, args: Args): Promise<void> {
  const what = `${operation.name} on ${target.name}`;
  if (!context.stdinIsTerminal) {
    throw new TidemarkError('UNSAFE', `${what} changes the remote service and needs --yes`, { hint: 'add --yes' });
  }
  const values = Object.entries(args).map(
    ([name, value]) => `${name}=${operation.params[name]?.secret ? '***' : String(value)}`,
  );
  const undo = operation.reversible ? '' : ' This cannot be undone.';
  context.stderr(`${[what, ...values].join(' ')}: ${operation.description}.${undo} Continue? [y/N] `);
  const line = await context.readLine();
  if (!/^\s*y(?:es)?\s*$/iu.test(line))
    throw new TidemarkError('UNSAFE', `${what}: not confirmed; no request was sent`);
}

function listOperations(context: Context): void {
  const all = [...operations.values()];
  const width = Math.max(...all.map(({ name }) => name.length));
  const lines = all.map((each) => `${each.name.padEnd(width)}  ${each.mutates ? '!' : ' '}  ${each.description}\n`);
  writeResult(context, all.map(toOperationRow), () => lines.join(''));
}

/** Parses `name=value` words; the values of a repeated name become a list. */
function parseArgs({ name: operation, params }: Operation, words: readonly string[]): Args {
  const values = new Map<string, string[]>();
  for (const word of words) {
    const at = word.indexOf('='); // parameter names, such as filter[0][f][is][0], contain none
    if (at <= 0) {
      throw new TidemarkError('USAGE', `${operation}: \`${word}\` is not name=value`, {
        hint: `parameters are ${Object.keys(params).join(', ') || 'none'}`,
      });
    }
    const name = word.slice(0, at);
    values.set(name, [...(values.get(name) ?? []), word.slice(at + 1)]);
  }
  return Object.fromEntries([...values].map(([name, list]) => [name, list.length === 1 ? list[0] : list]));
}

/** Parses `--body`: JSON, `@FILE`, or `-` for standard input. 64-bit integers keep their digits; no message contains the text. */
async function readBody(given: string | undefined, { cwd, readStdin }: Context): Promise<unknown> {
  if (given === undefined) return undefined;
  const file = given.startsWith('@') ? resolve(cwd, given.slice(1)) : undefined;
  const named = file === undefined ? given : readNamedFile(file, { name: `--body: ${file}` });
  const text = given === '-' ? await readStdin() : named;
  try {
    const json = text.replace(/^\uFEFF/u, '');
    const body = parseJson(json);
    const repeated = findRepeatedName(json);
    if (repeated === undefined) return body;
    throw new TidemarkError('USAGE', `--body has two values under one name, the second at character ${repeated}`);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new TidemarkError('USAGE', '--body is not valid JSON', { hint: 'give JSON, @FILE, or - for standard input' });
  }
}

const formatEmpty = (status: number) => `{"status": ${status}}\n`;

/** JSON indented and with every digit, other text as it was sent, and `{"status": 204}` for an empty body. */
function formatResponse({ status, text }: ServiceResponse): string {
  if (text.trim() === '') return formatEmpty(status);
  const shown = indentJson(text);
  return shown.endsWith('\n') ? shown : `${shown}\n`;
}

async function* listAllItems(operation: Operation, pages: AsyncIterable<ResponsePage>): AsyncGenerator<unknown> {
  for await (const { text } of pages) yield* findItems(operation, parseLossless(text)) ?? [];
}

/** Prints a large text from a temporary file: only a complete download is printed, and it is never held in memory. */
async function printDownload(print: Context['print'], download: (file: string) => Promise<DownloadResult>) {
  const folder = await createTemporaryFolder();
  try {
    const file = join(folder, 'response');
    const { status, bytes } = await download(file);
    if (bytes === 0) await print(formatEmpty(status));
    for await (const chunk of createReadStream(file, 'utf8')) await print(chunk as string);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
