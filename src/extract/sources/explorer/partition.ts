import { TidemarkError } from '../../../core/errors.ts';
import { textAt } from '../../../core/json-path.ts';
import { plural } from '../../../core/plural.ts';
import { type FailureKind, ServiceError } from '../../../http/errors.ts';
import { withRequestOptions } from '../../../services/client.ts';
import type { OperationArgs } from '../../../services/operation.ts';
import { platform } from '../../../services/platform/operations.ts';
import type { ExtractContext } from '../source.ts';

/** What a query is partitioned by. */
export interface PartitionKey {
  readonly view: string;
  /** Text fields, in order of preference. A nullable field is empty in some rows. */
  readonly fields: readonly { readonly name: string; readonly nullable: boolean }[];
}

/** Filters of a query, each `FIELD:OPERATOR:VALUE`. */
type Filters = readonly string[];

/** Runs a query with filters and writes its rows to the landing. @returns the total that the service reports, if it does */
export type FetchPartition = (context: ExtractContext, filters: Filters) => Promise<number | undefined>;

/** At most 64 partitions, or more with nullable fields. */
const MAX_DEPTH = 6;
/** An attempt takes up to 90 seconds. After two, partitions are more likely to help. */
const WHOLE_QUERY_ATTEMPTS = 2;
/** After so many splits without a successful partition, the size is not the cause: the service is down. */
const MAX_FAILED_SPLITS = 3;

/**
 * Runs a whole query, or partitions of it when the whole overloads the service. The partitions are disjoint and complete, because
 * their filters negate each other: `contains` and `does not contain` of a character, and `is_empty` for a nullable field. Times
 * cannot be partitioned: `is_before` and `is_after` both exclude the time itself.
 * @throws TidemarkError DATA when the totals of the partitions do not add up to the total of the whole query
 */
export async function fetchPartitioned(
  context: ExtractContext,
  key: PartitionKey,
  fetch: FetchPartition,
): Promise<void> {
  const { client, landing, log } = context;
  const { view } = key;
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
    for (let sample = await fetchSample(once, key, query); ; sample = []) {
      const partitions = choosePartitions(key, filters, sample);
      if (!partitions) throw cause;
      const totals: (number | undefined)[] = [];
      for (const added of partitions.slice(0, -1)) totals.push(await fetchOrSplit([...filters, ...added], depth + 1));
      const last = [...filters, ...(partitions.at(-1) ?? [])];
      if (totals.some((total) => total !== 0)) {
        totals.push(await fetchOrSplit(last, depth + 1));
        return totals.reduce((sum, total) => (sum !== undefined && total !== undefined ? sum + total : undefined), 0);
      }
      filters = last; // it has the rows of the query that just failed: the sample did not make it smaller
    }
  };

  const total = await fetchOrSplit([], 0);
  if (reported === undefined || total === undefined || reported === total) return;
  throw new TidemarkError(
    'DATA',
    `${view}: the partitions have ${plural(total, 'row')}, the whole query has ${reported}`,
  );
}

function withAttempts(context: ExtractContext, maxServerErrorAttempts: number): ExtractContext {
  return { ...context, client: withRequestOptions(context.client, { maxServerErrorAttempts }) };
}

/** The number of rows of a query, if the service reports it, which it may even where it cannot return the rows. */
export async function fetchTotal(context: ExtractContext, view: string, filter: Filters): Promise<number | undefined> {
  return (await fetchFirstPage(context, { type: view, filter, 'page[size]': 1 }))?.total;
}

async function fetchFirstPage({ client }: ExtractContext, args: OperationArgs<typeof platform.explorer.query>) {
  for await (const page of client.pages(platform.explorer.query, args)) return page;
  return undefined;
}

/** Failures of a query that is too large: the explorer stops after 60 seconds (docs/services/platform.md#limits). */
const OVERLOAD_FAILURES: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'server',
  'timeout',
  'truncated',
  'too-large',
]);

function isOverload(error: unknown): error is ServiceError {
  return error instanceof ServiceError && OVERLOAD_FAILURES.has(error.failure);
}

function ignoreOverload(error: unknown): undefined {
  if (!isOverload(error)) throw error;
}

/** Letters and digits by their frequency in names, without wildcards. */
const CHARACTERS = 'eaoinrst1203dlcupm456789ghbfkvwyjxqz';

const contains = (field: string, character: string) => `${field}:contains:${character}`;
const lacks = (field: string, character: string) => `${field}:does not contain:${character}`;
const isEmpty = (field: string) => `${field}:is_empty`;

/** Rows of a query, by the fields that it is partitioned by. */
type Sample = readonly Readonly<Record<string, string>>[];

/** Filters to add for each partition of a query, at least two; undefined when nothing is left to partition by. */
function choosePartitions({ fields }: PartitionKey, filters: Filters, sample: Sample): readonly Filters[] | undefined {
  const isFree = (name: string, character: string) =>
    ![contains(name, character), lacks(name, character), isEmpty(name)].some((filter) => filters.includes(filter));
  const candidates = fields.flatMap((field) =>
    [...CHARACTERS].filter((character) => isFree(field.name, character)).map((character) => ({ ...field, character })),
  );
  const distanceFromHalf = ({ name, character }: (typeof candidates)[number]) =>
    Math.abs(sample.filter((row) => row[name]?.includes(character)).length - sample.length / 2);
  const [best] = candidates.sort((a, b) => distanceFromHalf(a) - distanceFromHalf(b));
  if (!best) return undefined;
  const { name, nullable, character } = best;
  if (!nullable) return [[contains(name, character)], [lacks(name, character)]];
  return [[contains(name, character)], [lacks(name, character), `${name}:is_not_empty`], [isEmpty(name)]];
}

const SAMPLE_SIZE = 100;

/** Some rows, to choose a filter that halves them; none when even one page overloads the service. */
async function fetchSample(context: ExtractContext, { view, fields }: PartitionKey, filter: Filters): Promise<Sample> {
  const names = fields.map(({ name }) => name);
  const args = { type: view, filter, fields: names, 'page[size]': SAMPLE_SIZE };
  const page = await fetchFirstPage(context, args).catch(ignoreOverload);
  return (page?.items ?? []).map((item) => {
    const read = (name: string) =>
      textAt(item, 'attributes', name.replaceAll('_', '-')) ?? textAt(item, 'attributes', name) ?? '';
    return Object.fromEntries(names.map((name) => [name, read(name)]));
  });
}
