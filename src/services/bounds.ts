import type { Target } from '../config/config.ts';
import { TidemarkError } from '../core/errors.ts';

/** What a list, and the extraction of a source, may take. */
export interface Bounds {
  readonly maxPages: number;
  readonly maxItems: number;
  readonly maxBytes: number;
  readonly maxSeconds: number;
}

/** Generous: a list of five million workspaces has 50,000 pages. */
const DEFAULT_BOUNDS: Bounds = {
  maxPages: 100_000,
  maxItems: 20_000_000,
  maxBytes: 64 * 1024 ** 3,
  maxSeconds: 6 * 3600,
};

/** The bounds of a target. */
export function readBounds({ limits }: Pick<Target, 'limits'>): Bounds {
  const { maxPages, maxItems, maxBytes, maxSeconds } = DEFAULT_BOUNDS;
  return {
    maxPages: limits.maxPages ?? maxPages,
    maxItems: limits.maxItems ?? maxItems,
    maxBytes: limits.maxBytes ?? maxBytes,
    maxSeconds: limits.maxSeconds ?? maxSeconds,
  };
}

/** A bound of the configuration was reached. Another attempt would reach it again. */
export class BoundExceededError extends TidemarkError {
  /** @param key the key of the configuration, such as `limits.maxPages` */
  constructor(what: string, key: string) {
    super('DATA', `${what} (${key})`, {
      hint: `raise \`${key}\` if the service really has so much; otherwise the service is faulty`,
    });
    this.name = 'BoundExceededError';
  }
}

/** Counts pages and items. @throws BoundExceededError from `count` */
export class PageCounter {
  readonly #bounds: Bounds;
  readonly #subject: string;
  #pages = 0;
  #items = 0;

  /** @param subject what is counted, for the message */
  constructor(bounds: Bounds, subject: string) {
    this.#bounds = bounds;
    this.#subject = subject;
  }

  count(items: number): void {
    const { maxPages, maxItems } = this.#bounds;
    this.#pages++;
    this.#items += items;
    if (this.#pages > maxPages) {
      throw new BoundExceededError(`${this.#subject} has more than ${maxPages} pages`, 'limits.maxPages');
    }
    if (this.#items > maxItems) {
      throw new BoundExceededError(`${this.#subject} has more than ${maxItems} items`, 'limits.maxItems');
    }
  }
}
