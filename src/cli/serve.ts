import { once } from 'node:events';
import { resolve } from 'node:path';
import { startServer } from '../ask/serve/server.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { readNamedFile } from '../core/fs.ts';
import { isLoopback } from '../core/loopback.ts';
import { type DefineCommand, type Lists, port, positiveNumber, type Texts } from './define.ts';
import { listPlaybooks, loadPlaybookModules, readLocalConfig } from './options.ts';

export const define: DefineCommand = (command) =>
  command
    .option('--listen <address>', 'address to listen on; another than loopback needs a token', '127.0.0.1')
    .option('--port <number>', 'port; 0 selects a free one', port, 8420)
    .option('--token-file <file>', 'file with the token that readers must give; else TIDEMARK_SERVE_TOKEN')
    .repeatable('--allow-host <name>', 'name that readers may use for this server')
    .option('--workers <n>', 'queries that run at the same time', positiveNumber, 2)
    .runs(() => import('./serve.ts'), 'serve');

interface ServeFlags extends Lists<'allowHost'>, Texts<'tokenFile'> {
  readonly listen: string;
  readonly port: number;
  readonly workers: number;
}

const MIN_TOKEN_LENGTH = 16;
const MAX_TOKEN_KIBIBYTES = 64;

/** Serves until a signal. @throws TidemarkError USAGE if others could connect without a token. */
export async function serve(context: Context, flags: ServeFlags): Promise<void> {
  const config = readLocalConfig(context);
  const token = readToken(context, flags.tokenFile);
  if (!isLoopback(flags.listen) && token === undefined) {
    throw new TidemarkError('USAGE', `--listen ${flags.listen} lets other machines connect, which needs a token`, {
      hint: 'give --token-file FILE or set TIDEMARK_SERVE_TOKEN',
    });
  }
  const { port, workers, allowHost } = flags;
  const address = flags.listen.replace(/^\[(.+)\]$/u, '$1'); // as in a URL
  const hosts = allowHost.map((name) => name.toLowerCase());
  const rethrow = (cause: NodeJS.ErrnoException) => rethrowListening(cause, `${address} port ${port}`);
  const playbooks = () => listPlaybooks(config);
  await loadPlaybookModules(); // Node never repeats an import that fails, such as without a free file descriptor
  const server = await startServer({ config, address, port, workers, hosts, token, playbooks }, context).catch(rethrow);
  context.stdout(`${server.url}\n`);
  if (!context.signal.aborted) await once(context.signal, 'abort');
  await server.close();
}

/** @throws TidemarkError USAGE where nothing can listen there, and every other error as it is */
function rethrowListening(cause: NodeJS.ErrnoException, where: string): never {
  if (!['listen', 'getaddrinfo'].includes(cause.syscall ?? '')) throw cause;
  const reason = cause.code === 'EADDRINUSE' ? 'it is in use' : cause.message;
  throw new TidemarkError('USAGE', `cannot listen on ${where}: ${reason}`, {
    hint: 'give another --port; 0 selects a free one',
    cause,
  });
}

function readToken({ cwd, env, redactor }: Context, file: string | undefined): string | undefined {
  const path = file === undefined ? undefined : resolve(cwd, file);
  const options = { name: `--token-file ${path}`, maxKibibytes: MAX_TOKEN_KIBIBYTES };
  const text = path === undefined ? env.TIDEMARK_SERVE_TOKEN : readNamedFile(path, options);
  const token = text?.trim();
  if (token === undefined || (token === '' && file === undefined)) return undefined;
  redactor.add(token);
  if (token.length >= MIN_TOKEN_LENGTH) return token;
  throw new TidemarkError('USAGE', `the token has fewer than ${MIN_TOKEN_LENGTH} characters`, {
    hint: 'write one with `openssl rand -hex 32`',
  });
}
