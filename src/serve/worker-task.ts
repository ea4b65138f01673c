import type { ChildProcess } from 'node:child_process';
import { TidemarkError } from '../core/errors.ts';
import type { ColumnInfo, FromWorker, ResultSummary, ToWorker, WorkerRequest } from './protocol.ts';

/** Receives a result part by part. */
export interface ResultSink {
  readonly columns?: (columns: readonly ColumnInfo[]) => void;
  /** Resolves when the next part may follow. */
  readonly text: (text: string) => Promise<void>;
}

/** A query and its reader. */
export interface WorkerJob {
  readonly request: WorkerRequest;
  readonly sink: ResultSink;
  readonly signal: AbortSignal;
  readonly resolve: (summary: ResultSummary) => void;
  readonly reject: (error: unknown) => void;
}

/** One query in one worker. */
export class WorkerTask {
  readonly #worker: ChildProcess;
  readonly #job: WorkerJob;
  readonly #release: (isAlive: boolean) => void;
  readonly #maxSilentMs: number;
  #timer: NodeJS.Timeout | undefined;
  /** Parts are handled in order, although a sink takes its time. */
  #queue: Promise<void> = Promise.resolve();
  #isOver = false;

  /** @param release called once, with whether the worker can take another query */
  constructor(worker: ChildProcess, job: WorkerJob, maxSilentSeconds: number, release: (isAlive: boolean) => void) {
    this.#worker = worker;
    this.#job = job;
    this.#release = release;
    this.#maxSilentMs = maxSilentSeconds * 1000;
    worker.on('message', this.#receive);
    worker.once('exit', this.#fail);
    worker.once('error', this.#fail);
    job.signal.addEventListener('abort', this.#cancel, { once: true });
    this.#tell({ kind: 'run', request: job.request });
  }

  readonly #receive = (message: FromWorker): void => {
    // After a text the worker waits for the reader, who has as much time as the query.
    if (message.kind === 'columns') this.#watch();
    else clearTimeout(this.#timer);
    this.#queue = this.#queue.then(() => this.#handle(message)).catch((error: unknown) => this.abandon(error));
  };

  async #handle(message: FromWorker): Promise<void> {
    if (this.#isOver) return;
    const { sink, resolve, reject } = this.#job;
    if (message.kind === 'columns') sink.columns?.(message.columns);
    else if (message.kind === 'text') {
      await sink.text(message.text);
      if (!this.#isOver) this.#tell({ kind: 'next' });
    } else if (message.kind === 'done') {
      resolve(message.summary);
      this.#end(true);
    } else {
      reject(
        new TidemarkError(message.code, message.message, message.hint === undefined ? {} : { hint: message.hint }),
      );
      this.#end(true);
    }
  }

  readonly #cancel = (): void => this.abandon(this.#job.signal.reason);

  readonly #fail = (): void => this.abandon(new TidemarkError('DATA', 'the process that ran the query ended'));

  /** Nobody takes the rest, or the worker does not answer: another one takes its place. */
  abandon(error: unknown): void {
    if (this.#isOver) return;
    this.#job.reject(error);
    this.#worker.kill('SIGKILL');
    this.#end(false);
  }

  #tell(message: ToWorker): void {
    this.#watch();
    this.#worker.send(message, (error) => {
      if (error) this.#fail();
    });
  }

  #watch(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => this.abandon(new TidemarkError('DATA', 'the query did not stop at its time limit and was ended')),
      this.#maxSilentMs,
    );
  }

  #end(isAlive: boolean): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#worker.off('message', this.#receive);
    this.#worker.off('exit', this.#fail);
    this.#worker.off('error', this.#fail);
    this.#job.signal.removeEventListener('abort', this.#cancel);
    this.#release(isAlive);
  }
}
