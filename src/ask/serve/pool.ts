import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../../core/context.ts';
import { TidemarkError } from '../../core/errors.ts';
import type { QueryRequest, ResultSummary } from '../query/protocol.ts';
import { type QueryJob, QueryProcess, type ResultSink } from '../query/query-process.ts';

export interface PoolOptions {
  readonly config: QueryRequest['config'];
  /** Queries of readers that run at the same time. */
  readonly workers: number;
  /** Queries that wait for a worker; more are refused. */
  readonly maxWaiting: number;
  readonly env: Context['env'];
}

/** Too many queries wait. */
export class BusyError extends TidemarkError {}

/** A query with the reader who asks; `PAGES` for the queries that pages consist of. */
interface PoolJob extends QueryJob {
  readonly reader: string;
}

/** Asks for what a page consists of, and not for what a reader wrote: a worker is kept for it. */
export const PAGES = '';

/**
 * Processes that run queries, a few at a time. One is kept for pages. Of the others, a reader has all but one at most where there are
 * several, and the next query is the oldest of the reader who has the fewest running: nobody's queries stop those of others.
 */
export class WorkerPool {
  readonly #options: PoolOptions;
  readonly #waiting = new Set<PoolJob>();
  readonly #running = new Set<PoolJob>();
  readonly #idle: QueryProcess[];
  readonly #all: readonly QueryProcess[];
  #isClosed = false;

  constructor(options: PoolOptions) {
    const { workers, config, env } = options;
    this.#options = options;
    this.#all = Array.from({ length: workers + 1 }, () => new QueryProcess(config, env));
    this.#idle = [...this.#all];
  }

  /** Queries of readers that run and that wait. */
  get load(): { readonly running: number; readonly waiting: number } {
    const count = (jobs: Iterable<PoolJob>) => [...jobs].filter(({ reader }) => reader !== PAGES).length;
    return { running: count(this.#running), waiting: count(this.#waiting) };
  }

  /**
   * Runs a query when it is its reader's turn. `signal` ends it: the reader is gone.
   * @throws BusyError if too many wait; INTERRUPTED if the server ends; TidemarkError as the query; DATA if the worker ended.
   */
  run(request: QueryRequest, sink: ResultSink, signal: AbortSignal, reader: string): Promise<ResultSummary> {
    if (this.#isClosed) return Promise.reject(endError());
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#waiting.size >= this.#options.maxWaiting) {
      const hint = 'try again in a few seconds';
      return Promise.reject(new BusyError('UNREACHABLE', 'too many queries wait', { hint }));
    }
    return new Promise((resolve, reject) => {
      const job: PoolJob = { request, sink, signal, reader, resolve, reject };
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
    for (const worker of this.#all) worker.kill(endError());
    await Promise.all(this.#all.map((worker) => worker.close()));
  }

  /** The reader of a query that waits is gone: its place in the queue is free. */
  #withdraw(job: PoolJob): void {
    if (this.#waiting.delete(job)) job.reject(job.signal.reason);
  }

  #startNext(): void {
    for (let job = this.#selectNext(); job !== undefined; job = this.#selectNext()) {
      const worker = this.#idle.pop();
      if (!worker) return;
      this.#waiting.delete(job);
      this.#running.add(job);
      void this.#start(worker, job);
    }
  }

  async #start(worker: QueryProcess, job: PoolJob): Promise<void> {
    try {
      job.resolve(await worker.run(job.request, job.sink, job.signal));
    } catch (error) {
      job.reject(hideFolder(error, job.request.config.data));
    } finally {
      this.#running.delete(job);
      this.#idle.push(worker);
      this.#startNext();
    }
  }

  /** The job whose turn it is, if there is a worker for it. */
  #selectNext(): PoolJob | undefined {
    if (this.#idle.length === 0) return undefined;
    const { workers } = this.#options;
    const counts = new Map<string, number>();
    for (const { reader } of this.#running) counts.set(reader, (counts.get(reader) ?? 0) + 1);
    const ofReaders = this.#running.size - (counts.get(PAGES) ?? 0);
    const rank = ({ reader }: PoolJob) => (reader === PAGES ? -1 : (counts.get(reader) ?? 0));
    const mayRun = (job: PoolJob) =>
      job.reader === PAGES || (ofReaders < workers && rank(job) < Math.max(1, workers - 1));
    let next: PoolJob | undefined;
    for (const job of this.#waiting) if (mayRun(job) && (!next || rank(job) < rank(next))) next = job;
    return next;
  }
}

function endError(): TidemarkError {
  return new TidemarkError('INTERRUPTED', 'the server ends');
}

/** A reader learns no path of the server. */
function hideFolder(error: unknown, folder: string): unknown {
  if (!(error instanceof TidemarkError) || !error.message.includes(folder)) return error;
  const { code, message, hint } = error;
  return new TidemarkError(code, message.replaceAll(folder, '…'), hint === undefined ? {} : { hint });
}
