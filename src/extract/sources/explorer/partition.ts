import { TidemarkError } from '../../../core/errors.ts';
import { plural } from '../../../core/plural.ts';
import { type FailureKind, ServiceError } from '../../../http/errors.ts';
import { withRequestOptions } from '../../../services/client.ts';
import type { OperationArgs } from '../../../services/operation.ts';
import { platform } from '../../../services/platform/operations.ts';
import { type ExtractContext, optionalString } from '../source.ts';

/** What a query is partitioned by. */
export interface PartitionKey {
  readonly view: string;
  /** Text fields, in order of preference. A nullable field is empty in some rows. */
  readonly fields: readonly { readonly name: string; readonly nullable: boolean }[];
}

/** Filters of a query, each `FIELD:OPERATOR:VALUE`. */
type Filters = readonly string[];

/**
 * Runs a query with filters and writes its rows to the landing. `attempt` numbers the calls from 0, which is the whole query.
 * @returns the total that the service reports, if it does
 */
export type FetchPartition = (filters: Filters, attempt: number) => Promise<number | undefined>;

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
 */
export class PartitionedQuery {
  readonly #context: ExtractContext;
  readonly #key: PartitionKey;
  readonly #fetchWhole: FetchPartition;
  readonly #fetchPartition: FetchPartition;
  #attempts = 0;
  #failedSplits = 0;

  constructor(context: ExtractContext, key: PartitionKey, createFetch: (context: ExtractContext) => FetchPartition) {
    this.#context = withAttempts(context, 1);
    this.#key = key;
    this.#fetchWhole = createFetch(withAttempts(context, WHOLE_QUERY_ATTEMPTS));
    this.#fetchPartition = createFetch(this.#context);
  }

  /** @throws TidemarkError DATA when the totals of the partitions do not add up to the total of the whole query */
  async run(): Promise<void> {
    const { client, log } = this.#context;
    const { view } = this.#key;
    let reported: number | undefined;
    const total = await this.#fetchOrSplit([], 0, async (cause) => {
      reported = await fetchTotal(this.#context, view, []).catch(ignoreOverload);
      log.info(`${client.target.name}: ${view}: ${cause.message}; fetching it in partitions`);
    });
    if (reported === undefined || total === undefined || reported === total) return;
    throw new TidemarkError(
      'DATA',
      `${view}: the partitions have ${plural(total, 'row')}, the whole query has ${reported}`,
    );
  }

  async #fetchOrSplit(
    filters: Filters,
    depth: number,
    onSplit: (cause: ServiceError) => Promise<void> | void = () => {},
  ): Promise<number | undefined> {
    const { landing } = this.#context;
    const start = await landing.checkpoint();
    try {
      const fetch = depth === 0 ? this.#fetchWhole : this.#fetchPartition;
      const total = await fetch(filters, this.#attempts++);
      this.#failedSplits = 0;
      return total;
    } catch (error) {
      if (!isOverload(error) || depth === MAX_DEPTH || ++this.#failedSplits > MAX_FAILED_SPLITS) throw error;
      await landing.rollback(start);
      await onSplit(error);
      return this.#split(filters, depth, error, false);
    }
  }

  /**
   * Fetches a query in partitions.
   * @param cause why the query failed
   * @param isUnsampled do not sample the rows: an earlier split by a sample did not make the query smaller
   */
  async #split(
    filters: Filters,
    depth: number,
    cause: ServiceError,
    isUnsampled: boolean,
  ): Promise<number | undefined> {
    const partitions = await partition(this.#context, this.#key, filters, isUnsampled);
    if (!partitions) throw cause;
    const totals: (number | undefined)[] = [];
    for (const [index, added] of partitions.entries()) {
      const partitionFilters = [...filters, ...added];
      // When all others are empty, the last partition has the same rows as the query that just failed.
      const isSameQuery = index === partitions.length - 1 && totals.every((total) => total === 0);
      totals.push(
        isSameQuery
          ? await this.#split(partitionFilters, depth, cause, true)
          : await this.#fetchOrSplit(partitionFilters, depth + 1),
      );
    }
    return totals.reduce((sum, total) => (sum === undefined || total === undefined ? undefined : sum + total), 0);
  }
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

/** Filters to add for each partition of a query; undefined when nothing is left to partition by. */
async function partition(
  context: ExtractContext,
  key: PartitionKey,
  filters: Filters,
  isUnsampled: boolean,
): Promise<readonly Filters[] | undefined> {
  const sample = isUnsampled ? [] : await fetchSample(context, key, filters);
  const candidates = key.fields
    .flatMap(({ name, nullable }) => [...CHARACTERS].map((character) => ({ name, nullable, character })))
    .filter(
      ({ name, character }) =>
        !filters.includes(contains(name, character)) &&
        !filters.includes(lacks(name, character)) &&
        !filters.includes(isEmpty(name)),
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
async function fetchSample(
  context: ExtractContext,
  { view, fields }: PartitionKey,
  filter: Filters,
): Promise<readonly Readonly<Record<string, string>>[]> {
  const names = fields.map(({ name }) => name);
  const args = { type: view, filter, fields: names, 'page[size]': SAMPLE_SIZE };
  const page = await fetchFirstPage(context, args).catch(ignoreOverload);
  return (page?.items ?? []).map((item) => {
    const attributes = (item as { attributes?: unknown } | null)?.attributes;
    const read = (name: string) =>
      optionalString(attributes, name.replaceAll('_', '-')) ?? optionalString(attributes, name) ?? '';
    return Object.fromEntries(names.map((name) => [name, read(name)]));
  });
}
