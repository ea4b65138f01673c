import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { TidemarkError } from '../core/errors.ts';
import type { ColumnInfo, FromWorker, ToWorker, WorkerRequest } from './protocol.ts';

export interface PoolOptions {
  /** Queries that run at the same time. */
  readonly workers: number;
  /** Queries that wait for a worker; more are refused. */
  readonly maxWaiting: number;
  /** A worker that does not answer for so long is killed. It is longer than the time limit of a query. */
  readonly maxSilentSeconds: number;
  /** Environment of the workers: no token. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Too many queries wait. */
export class BusyError extends TidemarkError {}

/** Receives a result part by part. Each promise resolves when the next part may follow. */
export interface ResultSink {
  readonly columns?: (columns: readonly ColumnInfo[]) => void;
  readonly text: (text: string) => Promise<void>;
  /** The file is the receiver's, which removes its folder. */
  readonly file?: (path: string) => Promise<void>;
}

export interface ResultSummary {
  readonly rows: number;
  /** More rows would follow. */
  readonly isCut: boolean;
}

interface Job {
  readonly request: WorkerRequest;
  readonly sink: ResultSink;
  readonly signal: AbortSignal;
  readonly resolve: (summary: ResultSummary) => void;
  readonly reject: (error: unknown) => void;
}

const WORKER_FILE = fileURLToPath(new URL('./worker.js', import.meta.url));

/** Worker processes that run queries, a few at a time and in the order in which they come. */
export class WorkerPool {
  readonly #options: PoolOptions;
  readonly #waiting: Job[] = [];
  readonly #idle: ChildProcess[] = [];
  readonly #all = new Set<ChildProcess>();
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Queries that run and that wait. */
  get load(): { readonly running: number; readonly waiting: number } {
    return { running: this.#all.size - this.#idle.length, waiting: this.#waiting.length };
  }

  /**
   * Runs a query when a worker is free. `signal` ends it: the reader is gone.
   * @throws BusyError if too many wait; TidemarkError as the query; DATA if the worker ended.
   */
  run(request: WorkerRequest, sink: ResultSink, signal: AbortSignal): Promise<ResultSummary> {
    if (this.#waiting.length >= this.#options.maxWaiting) {
      return Promise.reject(
        new BusyError('UNREACHABLE', 'too many queries wait', { hint: 'try again in a few seconds' }),
      );
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, sink, signal, resolve, reject });
      this.#startNext();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of this.#waiting.splice(0)) job.reject(new TidemarkError('INTERRUPTED', 'the server ends'));
    for (const worker of this.#all) worker.kill('SIGKILL');
  }

  #startNext(): void {
    while (this.#waiting.length > 0 && !this.#isClosed) {
      const worker = this.#idle.pop() ?? this.#spawn();
      if (!worker) return;
      const job = this.#waiting.shift() as Job;
      if (job.signal.aborted) {
        job.reject(job.signal.reason);
        this.#idle.push(worker);
      } else this.#assign(worker, job);
    }
  }

  #spawn(): ChildProcess | undefined {
    if (this.#all.size >= this.#options.workers) return undefined;
    const worker = fork(WORKER_FILE, [], {
      env: this.#options.env as NodeJS.ProcessEnv,
      serialization: 'advanced',
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#all.add(worker);
    worker.on('error', () => worker.kill('SIGKILL'));
    worker.once('exit', () => this.#forget(worker));
    return worker;
  }

  #forget(worker: ChildProcess): void {
    this.#all.delete(worker);
    const index = this.#idle.indexOf(worker);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#startNext();
  }

  #assign(worker: ChildProcess, job: Job): void {
    new Exchange(worker, job, this.#options.maxSilentSeconds, (isAlive) => {
      if (isAlive && !this.#isClosed) this.#idle.push(worker);
      this.#startNext();
    });
  }
}

/** One query in one worker. */
class Exchange {
  readonly #worker: ChildProcess;
  readonly #job: Job;
  readonly #release: (isAlive: boolean) => void;
  readonly #maxSilentMs: number;
  #timer: NodeJS.Timeout | undefined;
  /** Parts are handled in order, although a sink takes its time. */
  #queue: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(worker: ChildProcess, job: Job, maxSilentSeconds: number, release: (isAlive: boolean) => void) {
    this.#worker = worker;
    this.#job = job;
    this.#release = release;
    this.#maxSilentMs = maxSilentSeconds * 1000;
    worker.on('message', this.#receive);
    worker.once('exit', this.#fail);
    job.signal.addEventListener('abort', this.#cancel, { once: true });
    this.#tell({ kind: 'run', request: job.request });
  }

  readonly #receive = (message: FromWorker): void => {
    clearTimeout(this.#timer);
    this.#queue = this.#queue.then(() => this.#handle(message)).catch((error: unknown) => this.#abandon(error));
  };

  async #handle(message: FromWorker): Promise<void> {
    const { sink, resolve, reject } = this.#job;
    if (this.#isOver) return;
    if (message.kind === 'columns') sink.columns?.(message.columns);
    else if (message.kind === 'text') {
      await sink.text(message.text);
      if (!this.#isOver) this.#tell({ kind: 'next' });
    } else if (message.kind === 'file') await sink.file?.(message.path);
    else {
      this.#end(true);
      if (message.kind === 'done') resolve(message);
      else
        reject(
          new TidemarkError(message.code, message.message, message.hint === undefined ? {} : { hint: message.hint }),
        );
    }
  }

  readonly #cancel = (): void => this.#abandon(this.#job.signal.reason);

  readonly #fail = (): void => {
    this.#end(false);
    this.#job.reject(new TidemarkError('DATA', 'the query ended the process that ran it'));
  };

  /** Nobody takes the rest, or the worker does not answer: a new worker takes its place. */
  #abandon(error: unknown): void {
    if (this.#isOver) return;
    this.#end(false);
    this.#worker.kill('SIGKILL');
    this.#job.reject(error);
  }

  #tell(message: ToWorker): void {
    this.#timer = setTimeout(
      () => this.#abandon(new TidemarkError('DATA', 'the query did not stop at its time limit and was ended')),
      this.#maxSilentMs,
    );
    this.#worker.send(message, (error) => {
      if (error) this.#abandon(error);
    });
  }

  #end(isAlive: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#worker.off('message', this.#receive);
    this.#worker.off('exit', this.#fail);
    this.#job.signal.removeEventListener('abort', this.#cancel);
    this.#release(isAlive);
  }
}
