import { type ChildProcess, spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { existsSync } from 'node:fs';
import { availableParallelism, platform } from 'node:os';
// biome-ignore lint/style/noRestrictedImports: the same Node runs the queries
import { execPath } from 'node:process';
import { type LinkedSignal, linkSignals } from '../../core/abort.ts';
import type { Context } from '../../core/context.ts';
import { TidemarkError } from '../../core/errors.ts';
import { readSize } from '../../core/size.ts';
import { CHILD_FILE } from './child-file.ts';
import { endedError, timeoutError } from './errors.ts';
import type { FromChild, QueryRequest, ResultSummary, ToChild, WriteText } from './protocol.ts';

const MIB = 1024 * 1024;
/** What Node and DuckDB reserve and never touch: 1.1 GiB with Node 20, 1.5 GiB with Node 26, and for each thread of DuckDB its stack and arena. */
const RESERVED_BYTES = 2_560 * MIB;
const RESERVED_BYTES_PER_CORE = 128 * MIB;
/** What a query may have in memory above DuckDB's limit: Node, libraries, buffers that DuckDB does not count. */
const UNCOUNTED_BYTES = 1_024 * MIB;
const SHELL = '/bin/sh';

/** A name that the process gets from the environment: no token, and nothing that tells whose it is. */
const PASSED = ['PATH', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'DUCKDB_JE_MALLOC_CONF'];

/**
 * Runs queries that people write, one at a time, in a process of its own: its memory is bounded, it can be killed, and it ends with
 * this one. The process is started for the first query, stays for the next, and is replaced when it was killed. Nothing is lost then
 * but the query: each has a session of its own.
 */
export class QueryProcess {
  readonly #memoryLimit: string;
  readonly #env: NodeJS.ProcessEnv;
  #child: ChildProcess | undefined;
  #running: LinkedSignal | undefined;
  #startFault: Promise<unknown> | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #wasKilled = false;

  constructor({ sql }: QueryRequest['config'], env: Context['env']) {
    this.#memoryLimit = sql.memoryLimit;
    this.#env = Object.fromEntries(PASSED.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
  }

  /** The process; undefined before the first query, and after it ended. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Runs one query. `signal` stops it: its process is killed.
   * @param write gets the text of the result; the next part comes when it has taken one
   * @throws TidemarkError as the query; DATA if the process ended or was killed at the limit of time; the reason of `signal`.
   */
  async run(request: QueryRequest, write: WriteText, signal: AbortSignal): Promise<ResultSummary> {
    signal.throwIfAborted();
    this.#child ??= this.#start();
    const child = this.#child;
    const { sql } = request.config;
    const running = linkSignals(signal);
    this.#running = running;
    let timer: NodeJS.Timeout | undefined;
    const expire = () => running.abort(timeoutError(sql));
    const messages = on(child, 'message', { close: ['disconnect'] });
    const tell = (message: ToChild) => child.send(message, (error) => error && messages.return?.());
    running.signal.addEventListener('abort', () => this.#end(child));
    const isStopped = () => running.signal.aborted;
    const next = () => isStopped() || tell({ kind: 'next' });
    try {
      tell({ kind: 'run', request });
      for await (const [message] of messages as AsyncIterable<[FromChild]>) {
        // The process ends the query at its limit, or does not answer any more.
        if (message.kind === 'started') timer = setTimeout(expire, sql.timeout * 1_000 + GRACE_MS);
        if (message.kind === 'text' && !isStopped()) void write(message.text).then(next, running.abort);
        if (message.kind === 'error') throw new TidemarkError(message.code, message.message, { hint: message.hint });
        if (message.kind !== 'done') continue;
        running.signal.throwIfAborted();
        return message.summary;
      }
      throw new Error('the process has ended');
    } catch (error) {
      if (isStopped()) throw running.signal.reason;
      throw error instanceof TidemarkError ? error : endedError(sql.memoryLimit, await this.#startFault);
    } finally {
      clearTimeout(timer);
      running.release();
      this.#running = undefined;
    }
  }

  /** Kills the process, with what it runs. */
  kill(reason: unknown): void {
    this.#running?.abort(reason);
    if (this.#child) this.#end(this.#child);
  }

  /** Ends the process, and removes the temporary files of one that was killed. */
  async close(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#ended;
    if (!this.#wasKilled) return;
    const { removeAbandonedFolders } = await import('../../warehouse/temporary-folder.ts');
    await removeAbandonedFolders();
  }

  #start(): ChildProcess {
    const child = startBounded(readSize(this.#memoryLimit), this.#env);
    const exit = once(child, 'exit').catch(() => {}); // one that could not be started never exits
    this.#ended = Promise.all([this.#ended, exit]);
    this.#startFault = once(child, 'spawn').then(
      () => undefined,
      (error: unknown) => error,
    );
    child.once('disconnect', () => this.#forget(child));
    child.once('error', () => this.#forget(child));
    return child;
  }

  /** Kills a process. The next query may come before it has ended, and gets another one. */
  #end(child: ChildProcess): void {
    this.#forget(child);
    child.kill('SIGKILL');
  }

  #forget(child: ChildProcess): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    this.#wasKilled ||= this.#running !== undefined;
  }
}

/** After its limit of time, a query has so long to end by itself; then its process is killed. */
const GRACE_MS = 1_000;

/** On Linux the system bounds the address space; Node cannot set that limit for itself. Everywhere the process watches its own size. */
function startBounded(memoryBytes: number, env: NodeJS.ProcessEnv): ChildProcess {
  const command = [execPath, CHILD_FILE, String(memoryBytes + UNCOUNTED_BYTES)];
  const addressBytes = memoryBytes + RESERVED_BYTES + RESERVED_BYTES_PER_CORE * availableParallelism();
  const bound = ['-c', 'ulimit -v "$0"; exec "$@"', String(Math.ceil(addressBytes / 1024))];
  const [file = '', ...args] = platform() === 'linux' && existsSync(SHELL) ? [SHELL, ...bound, ...command] : command;
  return spawn(file, args, { env, serialization: 'advanced', stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
}
