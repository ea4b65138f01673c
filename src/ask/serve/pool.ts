import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../../core/context.ts';
import { TidemarkError } from '../../core/errors.ts';
import type { QueryRequest, ResultSummary, WriteText } from '../query/protocol.ts';
import { QueryProcess } from '../query/query-process.ts';

/** Queries that wait for a worker; more are refused. */
const MAX_WAITING = 1_000;

/** Queries may run for so long when the server ends: a command has 4.5 s after a signal. */
const DRAIN_MS = 3_000;

/** This machine lacks something, or cannot use a file: whoever runs the server must act, and finds the cause in its log. */
export class LackError extends TidemarkError {}

/** A query that waits for its turn or has it, with the reader who asks; `PAGES` for the queries that pages consist of. */
interface Turn {
  readonly reader: string;
  readonly begin: (worker: QueryProcess) => void;
  readonly refuse: (error: unknown) => void;
}

/** Asks for what a page consists of, and not for what a reader wrote: a worker is kept for it. */
export const PAGES = '';

/**
 * Processes that run queries, a few at a time. One is kept for pages. Of the others, a reader has all but one at most where there are
 * several, and the next query is the oldest of the reader who has the fewest running: nobody's queries stop those of others.
 */
export class WorkerPool {
  readonly #waiting = new Set<Turn>();
  readonly #running = new Set<Turn>();
  readonly #idle: QueryProcess[];
  readonly #all: readonly QueryProcess[];
  #isClosed = false;

  /** @param workers queries of readers that run at the same time */
  constructor(config: QueryRequest['config'], workers: number, env: Context['env']) {
    this.#all = Array.from({ length: workers + 1 }, () => new QueryProcess(config, env));
    this.#idle = [...this.#all];
  }

  /** Queries of readers that run and that wait. */
  get load(): { readonly running: number; readonly waiting: number } {
    const count = (turns: Iterable<Turn>) => [...turns].filter(({ reader }) => reader !== PAGES).length;
    return { running: count(this.#running), waiting: count(this.#waiting) };
  }

  /**
   * Runs a query when it is its reader's turn. `signal` ends it: the reader is gone.
   * @throws TidemarkError UNREACHABLE if too many wait; INTERRUPTED if the server ends; TidemarkError as the query; DATA if the worker ended.
   */
  async run(request: QueryRequest, write: WriteText, signal: AbortSignal, reader: string): Promise<ResultSummary> {
    if (this.#isClosed) throw endError();
    signal.throwIfAborted();
    if (this.#waiting.size >= MAX_WAITING) {
      throw new TidemarkError('UNREACHABLE', 'too many queries wait', { hint: 'try again in a few seconds' });
    }
    const { turn, worker } = await this.#wait(reader, signal);
    try {
      return await worker.run(request, write, signal);
    } catch (error) {
      throw hidePaths(error, request.config.data);
    } finally {
      this.#running.delete(turn);
      this.#idle.push(worker);
      this.#startNext();
    }
  }

  /** Refuses what waits, gives what runs a few seconds, and ends the workers. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const turn of this.#waiting) turn.refuse(endError());
    this.#waiting.clear();
    for (const end = Date.now() + DRAIN_MS; this.#running.size > 0 && Date.now() < end; ) await sleep(20);
    for (const worker of this.#all) worker.kill(endError());
    await Promise.all(this.#all.map((worker) => worker.close()));
  }

  /** Waits for a worker. The place of a reader who is gone is free. */
  #wait(reader: string, signal: AbortSignal): Promise<{ readonly turn: Turn; readonly worker: QueryProcess }> {
    return new Promise((resolve, refuse) => {
      const turn: Turn = { reader, begin: (worker) => resolve({ turn, worker }), refuse };
      this.#waiting.add(turn);
      signal.addEventListener('abort', () => this.#waiting.delete(turn) && refuse(signal.reason), { once: true });
      this.#startNext();
    });
  }

  #startNext(): void {
    for (let turn = this.#selectNext(); turn !== undefined; turn = this.#selectNext()) {
      this.#waiting.delete(turn);
      this.#running.add(turn);
      turn.begin(this.#idle.pop() as QueryProcess);
    }
  }

  /** Whose turn it is, if there is a worker for it. */
  #selectNext(): Turn | undefined {
    if (this.#idle.length === 0) return undefined;
    const workers = this.#all.length - 1;
    const counts = new Map<string, number>();
    for (const { reader } of this.#running) counts.set(reader, (counts.get(reader) ?? 0) + 1);
    const ofReaders = this.#running.size - (counts.get(PAGES) ?? 0);
    const rank = ({ reader }: Turn) => (reader === PAGES ? -1 : (counts.get(reader) ?? 0));
    const mayRun = (turn: Turn) =>
      turn.reader === PAGES || (ofReaders < workers && rank(turn) < Math.max(1, workers - 1));
    let next: Turn | undefined;
    for (const turn of this.#waiting) if (mayRun(turn) && (!next || rank(turn) < rank(next))) next = turn;
    return next;
  }
}

function endError(): TidemarkError {
  return new TidemarkError('INTERRUPTED', 'the server ends');
}

export function lackError(cause: unknown): LackError {
  return new LackError('INTERRUPTED', 'the server cannot answer now', { cause });
}

/** A reader learns no path of the server. */
function hidePaths(error: unknown, folder: string): unknown {
  if (!(error instanceof TidemarkError)) return error;
  const { code, message, hint } = error;
  if (code === 'INCOMPLETE') return lackError(error);
  if (!message.includes(folder)) return error;
  const shown = message.replaceAll(folder, '…'); // a file of the server is damaged or absent: no fault of the query
  return new LackError('UNREACHABLE', shown, { cause: error, hint });
}
