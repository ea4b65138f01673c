import { TidemarkError } from '../../core/errors.ts';
import type { ServiceError } from '../../http/errors.ts';
import { platform } from '../../services/platform/operations.ts';
import { isOverload, type PartitionKey, partition } from '../explorer-divide.ts';
import type { ExtractContext } from '../source.ts';

export type { PartitionKey };

/**
 * Asks a query narrowed by `FIELD:OPERATOR:VALUE` filters and lands what comes. `part` numbers the tries: 0 is the whole.
 * @returns the total that the service states, if it does.
 */
export type FetchPartition = (filter: readonly string[], part: number) => Promise<number | undefined>;

/** Divided so often at most: into 64 parts, or more where a field is nullable. */
const MAX_DEPTH = 6;
/** A minute and a half each: the whole is asked for once more, then it is parts that may help. */
const WHOLE_ATTEMPTS = 2;
/** So many divisions of which no part came say that it is not the size: the service is down, or does not answer. */
const FRUITLESS = 3;

/**
 * Asks for the whole; where that is too much for the service, for parts of it. The parts are disjoint and whole because each
 * pair of filters is the negation of one another: `contains` and `does not contain` of one character in a field that every row
 * has, and `is_empty` beside them in one that a row may lack. Times cannot divide so: `is_before` and `is_after` are strict,
 * and neither keeps the moment itself.
 * @throws TidemarkError DATA when the parts do not add up to the total of the whole.
 */
export async function fetchPartitioned(
  given: ExtractContext,
  divisible: PartitionKey,
  askWith: (run: ExtractContext) => FetchPartition,
): Promise<void> {
  const run = impatient(given, 1);
  const askWhole = askWith(impatient(given, WHOLE_ATTEMPTS));
  const askPart = askWith(run);
  let parts = 0;
  let fruitless = 0;
  let whole: number | undefined;

  /** `known`: why these very rows did not come when they were asked for before. */
  const askOrDivide = async (
    filter: readonly string[],
    depth: number,
    known?: ServiceError,
  ): Promise<number | undefined> => {
    const before = await run.landing.checkpoint();
    let error = known;
    if (!error) {
      try {
        const total = await (filter.length === 0 ? askWhole : askPart)(filter, parts++);
        fruitless = 0;
        return total;
      } catch (caught) {
        if (!isOverload(caught) || depth === MAX_DEPTH || ++fruitless > FRUITLESS) throw caught;
        error = caught;
      }
      await run.landing.rollback(before);
    }
    if (filter.length === 0) whole = await totalOf(run, divisible.view);
    const division = await partition(run, divisible, filter, known !== undefined);
    if (!division) throw error;
    if (filter.length === 0)
      run.log.info(`${run.client.target.name}: ${divisible.view}: ${error.message}; asking in parts`);
    const totals: (number | undefined)[] = [];
    for (const more of division) {
      // Where all other parts are empty, the last one is what has just been too much.
      const same = totals.length === division.length - 1 && totals.every((total) => total === 0);
      totals.push(await askOrDivide([...filter, ...more], same ? depth : depth + 1, same ? error : undefined));
    }
    return sum(totals);
  };

  const total = await askOrDivide([], 0);
  if (whole === undefined || total === undefined || whole === total) return;
  throw new TidemarkError('DATA', `${divisible.view}: the parts have ${total} rows where the whole counts ${whole}`);
}

function impatient(run: ExtractContext, maxServerErrorAttempts: number): ExtractContext {
  return { ...run, requestOptions: { ...run.requestOptions, maxServerErrorAttempts } };
}

function sum(totals: readonly (number | undefined)[]): number | undefined {
  return totals.reduce((one, other) => (one === undefined || other === undefined ? undefined : one + other), 0);
}

/** The total of the whole may come where its rows do not. */
async function totalOf({ client, requestOptions }: ExtractContext, view: string): Promise<number | undefined> {
  try {
    for await (const page of client.pages(platform.explorer.query, { type: view, 'page[size]': 1 }, requestOptions)) {
      return page.total;
    }
  } catch (error) {
    if (!isOverload(error)) throw error;
  }
  return undefined;
}
