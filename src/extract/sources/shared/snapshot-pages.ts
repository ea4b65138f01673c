import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'lossless-json';
import { readTime } from '../../../core/clock.ts';
import { TidemarkError } from '../../../core/errors.ts';
import { sliceElements, sliceFields } from '../../../core/json.ts';
import { isObject, listAt, valueAt } from '../../../core/json-path.ts';
import { plural } from '../../../core/plural.ts';
import { sha256 } from '../../../core/sha256.ts';
import { keepPages } from '../../../services/kept-pages.ts';
import type { Operation, OperationArgs } from '../../../services/operation.ts';
import { IncompleteListError } from '../../../services/pagination.ts';
import { type ExtractContext, requiredString } from '../source.ts';

/** Rows per page: the most that the general documentation of the product allows (docs/services/platform.md#pagination). */
export const PAGE_SIZE = 100;

/** How often a list is read if it changes while its pages are read. */
export const MAX_READINGS = 3;

/** A page of a consistent list, without items of earlier pages. */
export interface SnapshotPage {
  readonly text: string;
  readonly items: readonly unknown[];
  /** Related resources that the service sent with the page. */
  readonly included: readonly unknown[];
}

type WritePage = (page: SnapshotPage) => Promise<void> | void;

/**
 * Writes a complete list to the landing: no item twice, and as many items as the service reports.
 * @param write writes one page. @default as one line of JSON
 * @returns the number of items that the service reports, if it does
 */
export async function extractPages<O extends Operation>(
  context: ExtractContext,
  operation: O,
  args: OperationArgs<O>,
  write: (page: SnapshotPage) => Promise<void> = (page) => context.landing.writeJson({}, page.text),
): Promise<number | undefined> {
  const { landing } = context;
  const start = await landing.checkpoint();
  const total = await sendPages(context, operation, args, write, () => landing.rollback(start));
  if (total !== undefined) landing.expectRows(total);
  return total;
}

/** The text of each item of a page, as it was sent. */
export function itemTexts(text: string): readonly string[] {
  return sliceElements(sliceFields(text).get('data') ?? '[]');
}

/** Reads a complete list into memory. */
export async function fetchPages<O extends Operation>(context: ExtractContext, operation: O, args: OperationArgs<O>) {
  const pages: SnapshotPage[] = [];
  const keeping = { ...context, client: keepPages(context.client) };
  const write = (page: SnapshotPage) => void pages.push(page);
  await sendPages(keeping, operation, args, write, () => void pages.splice(0));
  return pages;
}

/** The items with their IDs, for `listThenRead`. */
export function listKeys(pages: readonly SnapshotPage[]) {
  const all = pages.flatMap(({ items }) => items);
  return all.map((item, row) => ({ key: requiredString(item, 'id', 'list', row), item }));
}

/**
 * Writes the pages of a list until it does not change while they are read. Several pages are read twice where they have no total, or
 * an item of a later one may have been created meanwhile.
 * @param reset discards all pages: the list is read again
 * @returns the reported total, if any
 * @throws IncompleteListError if it changes at every reading
 */
export async function sendPages<O extends Operation>(
  context: ExtractContext,
  operation: O,
  args: OperationArgs<O>,
  write: WritePage,
  reset: () => Promise<void> | void,
): Promise<number | undefined> {
  let earlier: ReadonlySet<string> | undefined;
  for (let attempt = 1; ; attempt++) {
    const { total, inconsistent, unproven } = await readPages(context, operation, args, write).catch(takeIncomplete);
    if (inconsistent === undefined && (unproven === undefined || isDeepStrictEqual(unproven, earlier))) return total;
    const problem = inconsistent ?? (earlier && 'other rows than before');
    if (attempt === MAX_READINGS) throw toChangingList(context, operation, problem ?? 'it changes');
    if (problem !== undefined) {
      context.log.info(`${context.client.target.name}: ${operation.name}: ${problem}; reading it again`);
      context.metrics.retries++;
    }
    earlier = unproven;
    await reset();
  }
}

export function toChangingList({ client }: ExtractContext, { name: operation }: Operation, problem: string) {
  const serviceMessage = `${problem}, ${MAX_READINGS} times in a row`;
  const hint = 'try again later';
  return new IncompleteListError({ failure: 'malformed', serviceMessage, operation, target: client.target.name, hint });
}

interface Snapshot {
  readonly total?: number;
  /** Why the pages are not one consistent list. */
  readonly inconsistent?: string;
  /** The items of a list that may have changed while it was read: one may have been left out when another was deleted meanwhile. */
  readonly unproven?: ReadonlySet<string>;
}

function takeIncomplete(error: unknown): Snapshot {
  if (error instanceof IncompleteListError) return { inconsistent: error.serviceMessage };
  throw error;
}

/** When an item was created, in the names that lists and the explorer give it. */
const CREATED = ['created-at', 'workspace-created-at', 'workspace_created_at'];

/** How much the clocks of a service's servers may differ: one answers, another one has created the item. */
const CLOCK_SKEW_MS = 60_000;

/**
 * Whether an item may have come while a list was read: where one item is deleted and another one created between two pages, the total stays,
 * and an item that moves to an earlier page is left out.
 * @param answered times of the pages as the service tells the present in the header `Date`, NaN where it does not
 * @param created times of the items of later pages, NaN where they do not tell; what is later than the reading is of a clock that is ahead
 */
function mayHaveCreation(answered: readonly number[], created: readonly number[]): boolean {
  const times = answered.filter(Number.isFinite).sort((a, b) => a - b);
  const [from = Number.NaN, until = Number.NaN] = [times[0], times.at(-1)];
  return created.some((time) => !(time < from - CLOCK_SKEW_MS || time > until + CLOCK_SKEW_MS));
}

function readCreated(item: unknown): number {
  const times = CREATED.map((name) => readTime(valueAt(item, 'attributes', name)));
  return times.find((time) => time !== undefined)?.getTime() ?? Number.NaN;
}

/** Of an ID in memory: of a longer one the digest is kept, since a service says how long they are. */
const MAX_KEPT_LENGTH = 200;

/** Reads the list once. */
async function readPages<O extends Operation>(
  { client }: ExtractContext,
  operation: O,
  args: OperationArgs<O>,
  write: WritePage,
): Promise<Snapshot> {
  const seen = new Set<string>();
  const answered: number[] = [];
  const created: number[] = [];
  let total: number | undefined;
  let pages = 0;
  for await (const page of client.pages(operation, args)) {
    if (total !== undefined && page.total !== undefined && page.total !== total) {
      return { inconsistent: `the total changed from ${total} to ${page.total} between pages` };
    }
    total = page.total ?? total;
    // What the first page has was there before it.
    if (answered.length > 0) for (const item of page.items) created.push(readCreated(item)); // may be more than a call's arguments
    answered.push(Date.parse(page.headers.get('date') ?? ''));
    const before = seen.size;
    const items = page.items.filter((item, index) => {
      const id = requiredString(item, 'id', operation.name, before + index); // nothing else identifies it
      if (!isObject(valueAt(item, 'attributes')))
        throw new TidemarkError('DATA', `${operation.name}: row ${before + index + 1} has no attributes`);
      const key = id.length > MAX_KEPT_LENGTH ? sha256(id) : id;
      return !seen.has(key) && seen.add(key);
    });
    const isUnchanged = items.length === page.items.length;
    const text = isUnchanged ? page.text : (stringify({ data: items }) ?? '');
    await write({ items, included: listAt(page.json(), 'included') ?? [], text });
    pages++;
  }
  if (total === undefined) return pages > 1 ? { unproven: seen } : {};
  if (seen.size !== total) return { inconsistent: `${plural(seen.size, 'row')} received, ${total} reported` };
  return mayHaveCreation(answered, created) ? { total, unproven: seen } : { total };
}
