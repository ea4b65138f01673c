import type { Target } from '../config/config.ts';
import { TidemarkError } from '../core/errors.ts';
import { plural } from '../core/plural.ts';

/** What a list, and the extraction of a source, may take. */
export type Bounds = ReturnType<typeof readBounds>;

/** The bounds of a target. The defaults are generous: a list of five million workspaces has 50,000 pages. */
export function readBounds({ limits }: Pick<Target, 'limits'>) {
  const { maxPages = 100_000, maxItems = 20_000_000, maxBytes = 64 * 1024 ** 3, maxSeconds = 6 * 3600 } = limits;
  return { maxPages, maxItems, maxBytes, maxSeconds };
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

/**
 * Counts pages and items: the result takes the items of each page, and throws BoundExceededError.
 * @param subject what is counted, for the message
 */
export function createPageCounter({ maxPages, maxItems }: Bounds, subject: string): (items: number) => void {
  let [pages, items] = [0, 0];
  const fail = (bound: string, key: string): never => {
    throw new BoundExceededError(`${subject} has more than ${bound}`, key);
  };
  return (more) => {
    items += more;
    if (++pages > maxPages) fail(plural(maxPages, 'page'), 'limits.maxPages');
    if (items > maxItems) fail(plural(maxItems, 'item'), 'limits.maxItems');
  };
}
