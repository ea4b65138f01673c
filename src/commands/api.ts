import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { type Config, loadConfig, type Target } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { nearestName } from '../core/yaml-file.ts';
import { isList } from '../services/answer.ts';
import { checkCall } from '../services/check.ts';
import { connect } from '../services/connect.ts';
import { operationHelp, operationRow } from '../services/describe.ts';
import { operations } from '../services/index.ts';
import type { Args, Operation } from '../services/operation.ts';
import { readArgs, readBody } from './api-input.ts';
import { printAll, printAnswer, printDownload } from './api-output.ts';

interface Options {
  readonly target?: string;
  readonly body?: string;
  readonly all?: true;
  readonly yes?: true;
  readonly list?: true;
  readonly help?: true;
}

/** `tidemark api`: one call of any operation. */
export function registerApi(program: Command, context: () => Context): void {
  const command = program
    .command('api')
    .description('one call of any operation')
    .argument('[operation]', 'KIND.RESOURCE.VERB; `--list` shows them')
    .argument('[parameters...]', 'name=value, with the names of the API documents')
    .option('--target <name>', 'target to call; may be left out where one of the kind is configured')
    .option('--body <json>', 'request body: JSON, @FILE, or - for standard input')
    .option('--all', 'follow every page and print one array')
    .option('--yes', 'change something without being asked')
    .option('--list', 'list the operations')
    .helpOption(false)
    .addOption(new Option('--help', 'what the operation takes'))
    .action((name: string | undefined, parameters: string[], options: Options) => {
      if (name === undefined && !options.list) command.help({ error: !options.help });
      return api(context(), name, parameters, options);
    });
}

async function api(context: Context, name: string | undefined, parameters: string[], options: Options): Promise<void> {
  if (options.list) return context.stdout(listOf(context.json));
  const operation = findOperation(name ?? '');
  if (options.help) return context.stdout(operationHelp(operation));
  if (options.all && !isList(operation)) {
    throw new TidemarkError('USAGE', `${operation.name}: --all is for lists`, { hint: 'leave --all out' });
  }
  const args = readArgs(operation, parameters);
  const config = loadConfig(resolve(context.cwd, context.configFile), context.env, context.redactor);
  const target = findTarget(config, operation, options.target);
  const body = await readBody(options.body, context);
  const quiet = { info: () => {}, warn: () => {}, error: () => {} };
  checkCall(operation, target, args, body, quiet);
  if (operation.changes) await confirm(context, operation, target, args, options.yes ?? false);
  await call(context, config, target, { operation, args, body, all: options.all ?? false });
}

interface Asked {
  readonly operation: Operation;
  readonly args: Args;
  readonly body: unknown;
  readonly all: boolean;
}

async function call(
  context: Context,
  config: Config,
  target: Target,
  { operation, args, body, all }: Asked,
): Promise<void> {
  const { redactor, log, signal, env } = context;
  const service = connect(target, { redactor, log, signal, env, maxWaitMs: config.maxWait * 1000 });
  const options = { body, write: operation.changes };
  try {
    if (all) await printAll(context, operation, service.pages(operation, args, options));
    else if (operation.answers === 'csv') {
      await printDownload(context, (file) => service.download(operation, args, file, options));
    } else printAnswer(context, await service.call(operation, args, options));
  } finally {
    await service.close();
  }
}

function findOperation(name: string): Operation {
  const operation = operations.get(name);
  if (operation) return operation;
  const nearest = nearestName(name, operations.keys());
  throw new TidemarkError('USAGE', `unknown operation ${name}`, {
    hint: nearest ? `did you mean ${nearest}?` : 'see `tidemark api --list`',
  });
}

function findTarget({ targets }: Config, { name: operation, kind }: Operation, asked: string | undefined): Target {
  const ofKind = targets.filter((target) => target.kind === kind).map(({ name }) => name);
  const wanted = asked ?? (ofKind.length === 1 ? ofKind[0] : undefined);
  if (wanted === undefined) {
    const hint = ofKind.length === 0 ? `add one of kind ${kind} to \`targets\`` : `choose one: ${ofKind.join(', ')}`;
    const message =
      ofKind.length === 0 ? 'no target of its kind is configured' : '--target is needed: several are configured';
    throw new TidemarkError('USAGE', `${operation}: ${message}`, { hint });
  }
  const target = targets.find(({ name }) => name === wanted);
  if (target) return target;
  const nearest = nearestName(
    wanted,
    targets.map(({ name }) => name),
  );
  throw new TidemarkError('USAGE', `unknown target ${wanted}`, {
    hint: nearest ? `did you mean ${nearest}?` : `known are ${targets.map(({ name }) => name).join(', ')}`,
  });
}

/** @throws TidemarkError UNSAFE unless the change was asked for with `--yes`, or confirmed on the terminal. */
async function confirm(
  context: Context,
  operation: Operation,
  target: Target,
  args: Args,
  yes: boolean,
): Promise<void> {
  if (yes) return;
  const what = `${operation.name} at ${target.name}`;
  if (!context.stdinIsTerminal) {
    throw new TidemarkError('UNSAFE', `${what} changes something there: not done without --yes`, { hint: 'add --yes' });
  }
  const given = Object.entries(args).map(
    ([name, value]) => `${name}=${operation.params[name]?.secret ? '***' : String(value)}`,
  );
  const undo = operation.reversible ? '' : ' This cannot be undone.';
  context.stderr(`${[what, ...given].join(' ')}: ${operation.about}.${undo} Go on? [y/N] `);
  const line = await context.readLine();
  if (!/^\s*y(?:es)?\s*$/iu.test(line)) throw new TidemarkError('UNSAFE', `${what}: not confirmed, nothing was sent`);
}

function listOf(json: boolean): string {
  const all = [...operations.values()];
  if (json) return `${JSON.stringify(all.map(operationRow), null, 2)}\n`;
  const width = Math.max(...all.map(({ name }) => name.length));
  return all.map(({ name, changes, about }) => `${name.padEnd(width)}  ${changes ? '!' : ' '}  ${about}\n`).join('');
}
