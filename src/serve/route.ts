import type { ServerResponse } from 'node:http';
import type { Config } from '../config/config.ts';
import { TidemarkError } from '../core/errors.ts';
import type { WorkerPool } from './pool.ts';

/** What a route answers with. */
export interface Exchange {
  readonly config: Config;
  readonly pool: WorkerPool;
  readonly url: URL;
  /** The part of the path that the route's pattern captured. */
  readonly name: string;
  readonly response: ServerResponse;
  /** Aborted when the reader is gone. */
  readonly signal: AbortSignal;
  /** For the scripts and styles of a page. */
  readonly nonce: string;
}

/** Answers one kind of address. */
export interface Route {
  /** Matched with the whole path; the first group is `name`. */
  readonly pattern: RegExp;
  readonly answer: (exchange: Exchange) => Promise<void>;
}

/** The path names nothing. */
export class NotFoundError extends TidemarkError {
  constructor(path: string) {
    super('USAGE', `there is no ${path}`);
  }
}
