import type { ChildProcess } from 'node:child_process';
import { TidemarkError } from '../../core/errors.ts';
import { endedError, timeoutError } from './errors.ts';
import type { ColumnInfo, FromChild, QueryRequest, ResultSummary, ToChild } from './protocol.ts';

/** Receives a result part by part. */
export interface ResultSink {
  readonly columns?: (columns: readonly ColumnInfo[]) => void;
  /** Resolves when the next part may follow. */
  readonly text: (text: string) => Promise<unknown>;
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

/** After its limit of time, and after it was told to stop, a query has so long to end by itself; then its process is killed. */
const GRACE_MS = 1_000;

/** One query in one process. It is over when the process answers or ends. */
export class QueryTask {
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
    const { timeoutSeconds = this.#job.request.config.sql.timeout } = this.#job.request;
    const expire = () => {
      this.#reason ??= timeoutError({ timeoutSeconds });
      this.#child.kill('SIGKILL');
    };
    this.#timers.push(setTimeout(expire, timeoutSeconds * 1_000 + GRACE_MS));
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
