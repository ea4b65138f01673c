import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { availableParallelism, platform } from 'node:os';
// biome-ignore lint/style/noRestrictedImports: the same Node runs the queries
import { execPath } from 'node:process';
import type { Context } from '../../core/context.ts';
import { TidemarkError } from '../../core/errors.ts';
import { readSize } from '../../core/size.ts';
import { CHILD_FILE } from './child-file.ts';
import { endedError, timeoutError } from './errors.ts';
import type { ColumnInfo, FromChild, QueryRequest, ResultSummary, ToChild, WriteText } from './protocol.ts';

const MIB = 1024 * 1024;
/** What Node and DuckDB reserve and never touch: 1.1 GiB with Node 20, 1.5 GiB with Node 26, and for each thread of DuckDB its stack and arena. */
const RESERVED_BYTES = 2_560 * MIB;
const RESERVED_BYTES_PER_CORE = 128 * MIB;
/** What a query may have in memory above DuckDB's limit: Node, libraries, buffers that DuckDB does not count. */
const UNCOUNTED_BYTES = 1_024 * MIB;
const SHELL = '/bin/sh';

/** A name that the process gets from the environment: no token, and nothing that tells whose it is. */
const PASSED = ['PATH', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'DUCKDB_JE_MALLOC_CONF'];

/** Receives a result part by part. */
export interface ResultSink {
  readonly columns?: (columns: readonly ColumnInfo[]) => void;
  readonly text: WriteText;
}

/** A query and its reader. */
export interface QueryJob {
  readonly request: QueryRequest;
  readonly sink: ResultSink;
  /** Stops the query. */
  readonly signal: AbortSignal;
  readonly resolve: (summary: ResultSummary) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs queries that people write, one at a time, in a process of its own: its memory is bounded, it can be killed, and it ends with
 * this one. The process is started for the first query, stays for the next, and is replaced when it was killed. Nothing is lost then
 * but the query: each has a session of its own.
 */
export class QueryProcess {
  readonly #memoryLimit: string;
  readonly #env: NodeJS.ProcessEnv;
  #child: ChildProcess | undefined;
  #task: QueryTask | undefined;
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
   * Runs one query. `signal` stops it: it is interrupted, and its process killed a second later.
   * @throws TidemarkError as the query; DATA if the process ended or was killed at the limit of time; the reason of `signal`.
   */
  run(request: QueryRequest, sink: ResultSink, signal: AbortSignal): Promise<ResultSummary> {
    if (signal.aborted) return Promise.reject(signal.reason);
    this.#child ??= this.#start();
    const child = this.#child;
    return new Promise((resolve, reject) => {
      this.#task = new QueryTask(child, { request, sink, signal, resolve, reject }, () => {
        this.#task = undefined;
      });
    });
  }

  /** Kills the process, with what it runs. */
  kill(reason: unknown): void {
    this.#task?.stop(reason);
    this.#child?.kill('SIGKILL');
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
    this.#ended = once(child, 'exit').catch(() => {}); // one that could not be started never exits
    const forget = () => {
      this.#wasKilled ||= this.#task !== undefined;
      if (this.#child === child) this.#child = undefined;
    };
    child.once('disconnect', forget);
    child.once('error', forget);
    return child;
  }
}

/** After its limit of time, and after it was told to stop, a query has so long to end by itself; then its process is killed. */
const GRACE_MS = 1_000;

/** One query in one process. It is over when the process answers or ends. */
class QueryTask {
  readonly #child: ChildProcess;
  readonly #job: QueryJob;
  readonly #release: () => void;
  readonly #timers: NodeJS.Timeout[] = [];
  /** Parts are handled in order, although a sink takes its time. */
  #queue: Promise<void> = Promise.resolve();
  /** Why it is stopped. */
  #reason: unknown;
  #isOver = false;

  /** @param release called once, when the process is free or gone */
  constructor(child: ChildProcess, job: QueryJob, release: () => void) {
    this.#child = child;
    this.#job = job;
    this.#release = release;
    child.on('message', this.#receive);
    // All that the process said comes before, as it does not before its exit.
    child.once('disconnect', this.#fail);
    child.once('error', this.#fail);
    job.signal.addEventListener('abort', this.#cancel, { once: true });
    this.#tell({ kind: 'run', request: job.request });
  }

  /** Interrupts the query, which has a second to end. */
  stop(reason: unknown): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#tell({ kind: 'stop' });
    this.#killAfter(GRACE_MS);
  }

  readonly #cancel = (): void => this.stop(this.#job.signal.reason);

  readonly #receive = (message: FromChild): void => {
    if (message.kind === 'started') this.#limitTime();
    const isLast = message.kind === 'done' || message.kind === 'error';
    if (isLast && this.#reason !== undefined) this.#settle(() => this.#job.reject(this.#reason));
    else this.#queue = this.#queue.then(() => this.#handle(message)).catch((error: unknown) => this.stop(error));
  };

  async #handle(message: FromChild): Promise<void> {
    const { sink, resolve, reject } = this.#job;
    if (message.kind === 'columns') sink.columns?.(message.columns);
    if (message.kind === 'text' && this.#reason === undefined) {
      await sink.text(message.text);
      this.#tell({ kind: 'next' });
    }
    if (message.kind === 'done') this.#settle(() => resolve(message.summary));
    if (message.kind === 'error') this.#settle(() => reject(toError(message)));
  }

  /** The process ends the query at its limit, or does not answer any more. */
  #limitTime(): void {
    const { timeout } = this.#job.request.config.sql;
    const expire = () => {
      this.#reason ??= timeoutError({ timeout });
      this.#child.kill('SIGKILL');
    };
    this.#timers.push(setTimeout(expire, timeout * 1_000 + GRACE_MS));
  }

  #killAfter(waitMs: number): void {
    this.#timers.push(setTimeout(() => this.#child.kill('SIGKILL'), waitMs));
  }

  readonly #fail = (): void => {
    this.#queue = this.#queue.then(() =>
      this.#settle(() => this.#job.reject(this.#reason ?? endedError(this.#job.request.config.sql.memoryLimit))),
    );
    if (this.#reason !== undefined) this.#settle(() => this.#job.reject(this.#reason));
  };

  #tell(message: ToChild): void {
    this.#child.send(message, (error) => {
      if (error) this.#fail();
    });
  }

  #settle(end: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#child.off('message', this.#receive);
    this.#child.off('disconnect', this.#fail);
    this.#child.off('error', this.#fail);
    this.#job.signal.removeEventListener('abort', this.#cancel);
    end();
    this.#release();
  }
}

function toError({ code, message, hint }: Extract<FromChild, { kind: 'error' }>): TidemarkError {
  return new TidemarkError(code, message, hint === undefined ? {} : { hint });
}

/** On Linux the system bounds the address space; Node cannot set that limit for itself. Everywhere the process watches its own size. */
function startBounded(memoryBytes: number, env: NodeJS.ProcessEnv): ChildProcess {
  const command = [execPath, CHILD_FILE, String(memoryBytes + UNCOUNTED_BYTES)];
  const addressBytes = memoryBytes + RESERVED_BYTES + RESERVED_BYTES_PER_CORE * availableParallelism();
  const bound = ['-c', 'ulimit -v "$0"; exec "$@"', String(Math.ceil(addressBytes / 1024))];
  const [file = '', ...args] = platform() === 'linux' && existsSync(SHELL) ? [SHELL, ...bound, ...command] : command;
  return spawn(file, args, { env, serialization: 'advanced', stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
}
