import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { TidemarkError } from '../core/errors.ts';
import { removeAbandonedFolders } from '../warehouse/temporary-folder.ts';
import type { ResultSummary, WorkerRequest } from './protocol.ts';
import { type ResultSink, type WorkerJob, WorkerTask } from './worker-task.ts';

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

/** In `dist/`, where the bundle puts it beside this module. */
const WORKER_FILE = fileURLToPath(new URL('./serve-worker.js', import.meta.url));

/** Worker processes that run queries, a few at a time and in the order in which they come. */
export class WorkerPool {
  readonly #options: PoolOptions;
  readonly #waiting = new Set<WorkerJob>();
  readonly #idle = new Set<ChildProcess>();
  readonly #all = new Set<ChildProcess>();
  readonly #running = new Set<WorkerTask>();
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Queries that run and that wait. */
  get load(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running.size, waiting: this.#waiting.size };
  }

  /**
   * Runs a query when a worker is free. `signal` ends it: the reader is gone.
   * @throws BusyError if too many wait; INTERRUPTED if the server ends; TidemarkError as the query; DATA if the worker ended.
   */
  run(request: WorkerRequest, sink: ResultSink, signal: AbortSignal): Promise<ResultSummary> {
    if (this.#isClosed) return Promise.reject(endError());
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#waiting.size >= this.#options.maxWaiting) {
      const hint = 'try again in a few seconds';
      return Promise.reject(new BusyError('UNREACHABLE', 'too many queries wait', { hint }));
    }
    return new Promise((resolve, reject) => {
      const job: WorkerJob = { request, sink, signal, resolve, reject };
      this.#waiting.add(job);
      signal.addEventListener('abort', () => this.#withdraw(job), { once: true });
      this.#startNext();
    });
  }

  /** Refuses what waits, gives what runs `drainSeconds`, and ends the workers. */
  async close(drainSeconds: number): Promise<void> {
    this.#isClosed = true;
    for (const job of this.#waiting) job.reject(endError());
    this.#waiting.clear();
    for (const end = Date.now() + drainSeconds * 1000; this.#running.size > 0 && Date.now() < end; ) await sleep(20);
    for (const task of this.#running) task.abandon(endError());
    const ends = [...this.#all].map((worker) => once(worker, 'exit'));
    for (const worker of this.#all) worker.kill('SIGKILL');
    await Promise.all(ends);
    await removeAbandonedFolders();
  }

  /** The reader of a query that waits is gone: its place in the queue is free. */
  #withdraw(job: WorkerJob): void {
    if (this.#waiting.delete(job)) job.reject(job.signal.reason);
  }

  #startNext(): void {
    for (const job of this.#waiting) {
      const worker = this.#takeIdle() ?? this.#spawn();
      if (!worker) return;
      this.#waiting.delete(job);
      const task: WorkerTask = new WorkerTask(worker, job, this.#options.maxSilentSeconds, (isAlive) => {
        this.#running.delete(task);
        if (isAlive) this.#idle.add(worker);
        this.#startNext();
      });
      this.#running.add(task);
    }
  }

  #takeIdle(): ChildProcess | undefined {
    for (const worker of this.#idle) {
      this.#idle.delete(worker);
      if (worker.connected) return worker;
    }
    return undefined;
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
    worker.once('exit', () => this.#forget(worker));
    worker.on('error', () => {
      worker.kill('SIGKILL');
      if (worker.pid === undefined) this.#forget(worker); // it could not be started, and never exits
    });
    return worker;
  }

  #forget(worker: ChildProcess): void {
    this.#all.delete(worker);
    this.#idle.delete(worker);
    this.#startNext();
  }
}

function endError(): TidemarkError {
  return new TidemarkError('INTERRUPTED', 'the server ends');
}
