import { TidemarkError } from '../../../core/errors.ts';
import { textAt } from '../../../core/json-path.ts';
import { plural } from '../../../core/plural.ts';
import { type FailureKind, ServiceError } from '../../../http/errors.ts';
import { withRequestOptions } from '../../../services/client.ts';
import type { OperationArgs } from '../../../services/operation.ts';
import { platform } from '../../../services/platform/operations.ts';
import type { ExtractContext } from '../source.ts';

/** Filters of a query, each `FIELD:OPERATOR:VALUE`. */
type Filters = readonly string[];

/** Runs a query with filters and writes its rows to the landing. @returns the total that the service reports, if it does */
export type FetchPartition = (context: ExtractContext, filters: Filters) => Promise<number | undefined>;

/** At most 64 partitions. */
const MAX_DEPTH = 6;
/** An attempt takes up to 90 seconds. After two, partitions are more likely to help. */
const WHOLE_QUERY_ATTEMPTS = 2;
/** After so many splits without a successful partition, the size is not the cause: the service is down. */
const MAX_FAILED_SPLITS = 3;

/**
 * Runs a whole query, or partitions of it when the whole overloads the service. The partitions are disjoint and complete, because
 * their filters negate each other: `contains` and `does not contain` of a character. Times cannot be partitioned: `is_before` and
 * `is_after` both exclude the time itself.
 * @param field a text that every row has
 * @throws TidemarkError DATA when the totals of the partitions do not add up to the total of the whole query
 */
export async function fetchPartitioned(context: ExtractContext, view: string, field: string, fetch: FetchPartition) {
  const { client, landing, log } = context;
  const once = withAttempts(context, 1);
  let failedSplits = 0;
  let reported: number | undefined;

  const fetchOrSplit = async (filters: Filters, depth: number): Promise<number | undefined> => {
    const start = await landing.checkpoint();
    try {
      const total = await fetch(depth === 0 ? withAttempts(context, WHOLE_QUERY_ATTEMPTS) : once, filters);
      failedSplits = 0;
      return total;
    } catch (error) {
      if (!isOverload(error) || depth === MAX_DEPTH || ++failedSplits > MAX_FAILED_SPLITS) throw error;
      await landing.rollback(start);
      if (depth === 0) {
        reported = await fetchTotal(once, view, []).catch(ignoreOverload);
        log.info(`${client.target.name}: ${view}: ${error.message}; fetching it in partitions`);
      }
      return split(filters, depth, error);
    }
  };

  const split = async (query: Filters, depth: number, cause: ServiceError): Promise<number | undefined> => {
    let filters = query;
    for (let sample = await fetchSample(once, view, field, query); ; sample = []) {
      const character = chooseCharacter(field, filters, sample);
      if (character === undefined) throw cause;
      const having = await fetchOrSplit([...filters, contains(field, character)], depth + 1);
      const rest = [...filters, lacks(field, character)];
      if (having !== 0) {
        const lacking = await fetchOrSplit(rest, depth + 1);
        return having === undefined || lacking === undefined ? undefined : having + lacking;
      }
      filters = rest; // it has the rows of the query that just failed: the sample did not make it smaller
    }
  };

  const total = await fetchOrSplit([], 0);
  if (reported === undefined || total === undefined || reported === total) return;
  const what = `the partitions have ${plural(total, 'row')}, the whole query has ${reported}`;
  throw new TidemarkError('DATA', `${view}: ${what}`);
}

function withAttempts(context: ExtractContext, maxServerErrorAttempts: number): ExtractContext {
  const options = { maxServerErrorAttempts, mayRepeatNames: true }; // the rows of a page are rewritten as CSV
  return { ...context, client: withRequestOptions(context.client, options) };
}

/** The number of rows of a query, if the service reports it, which it may even where it cannot return the rows. */
export async function fetchTotal(context: ExtractContext, view: string, filter: Filters): Promise<number | undefined> {
  return (await fetchFirstPage(context, { type: view, filter, 'page[size]': 1 }))?.total;
}

async function fetchFirstPage({ client }: ExtractContext, args: OperationArgs<typeof platform.explorer.query>) {
  for await (const page of client.pages(platform.explorer.query, args)) return page;
  return undefined;
}

/**
 * Failures of a query that is too large: the explorer stops after 60 seconds (docs/services/platform.md#limits). One that was not sent is
 * none.
 */
const OVERLOAD_FAILURES: readonly FailureKind[] = ['server', 'timeout', 'truncated', 'too-large'];

export function isOverload(error: unknown): error is ServiceError {
  return error instanceof ServiceError && OVERLOAD_FAILURES.includes(error.failure) && !error.details.notProcessed;
}

function ignoreOverload(error: unknown): undefined {
  if (!isOverload(error)) throw error;
}

/** Letters and digits by their frequency in names, without wildcards. */
const CHARACTERS = 'eaoinrst1203dlcupm456789ghbfkvwyjxqz';

const contains = (field: string, character: string) => `${field}:contains:${character}`;
const lacks = (field: string, character: string) => `${field}:does not contain:${character}`;

/** The character that halves a sample best; undefined when the filters name every one. */
function chooseCharacter(field: string, filters: Filters, sample: readonly string[]): string | undefined {
  const isFree = (character: string) =>
    !filters.includes(contains(field, character)) && !filters.includes(lacks(field, character));
  const distanceFromHalf = (character: string) =>
    Math.abs(sample.filter((text) => text.includes(character)).length - sample.length / 2);
  return [...CHARACTERS].filter(isFree).sort((a, b) => distanceFromHalf(a) - distanceFromHalf(b))[0];
}

const SAMPLE_SIZE = 100;

/** The field of some rows, to choose a filter that halves them; none when even one page overloads the service. */
async function fetchSample(context: ExtractContext, view: string, field: string, filter: Filters) {
  const args = { type: view, filter, fields: [field], 'page[size]': SAMPLE_SIZE };
  const page = await fetchFirstPage(context, args).catch(ignoreOverload);
  const read = (item: unknown) =>
    textAt(item, 'attributes', field.replaceAll('_', '-')) ?? textAt(item, 'attributes', field);
  return (page?.items ?? []).map((item) => read(item) ?? '');
}
