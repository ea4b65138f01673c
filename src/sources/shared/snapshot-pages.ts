import { stringify } from 'lossless-json';
import { TidemarkError } from '../../core/errors.ts';
import type { Operation, OperationArgs } from '../../services/operation.ts';
import { type ExtractContext, optionalString } from '../source.ts';

/** How often a set that moved while it was paged through is asked for again. */
const MAX_ATTEMPTS = 3;

/** One page of a consistent set: its JSON text without repeated items, and how many items the pages before it held. */
export interface SnapshotPage {
  readonly text: string;
  readonly items: readonly unknown[];
  readonly offset: number;
}

interface PageSink {
  readonly page: (page: SnapshotPage) => Promise<void> | void;
  /** The set moved: what came so far is void. */
  readonly reset: () => Promise<void> | void;
}

/**
 * Lands the pages of a list, complete: without repeats, and as many rows as the service says there are.
 * @param write lands one page. @default as a line
 * @returns that number, where the service says it.
 */
export async function extractPages<O extends Operation>(
  run: ExtractContext,
  operation: O,
  args: OperationArgs<O>,
  write: (page: SnapshotPage) => Promise<void> = (page) => run.landing.writeJson({}, page.text),
): Promise<number | undefined> {
  const before = await run.landing.checkpoint();
  const total = await consistentSnapshot(run, operation, args, {
    page: write,
    reset: () => run.landing.rollback(before),
  });
  if (total !== undefined) run.landing.expectRows(total);
  return total;
}

/** The pages of a small list, complete as `landPages` has them, in memory. */
export async function fetchPages<O extends Operation>(
  run: ExtractContext,
  operation: O,
  args: OperationArgs<O>,
): Promise<readonly SnapshotPage[]> {
  const pages: SnapshotPage[] = [];
  await consistentSnapshot(run, operation, args, {
    page: (page) => void pages.push(page),
    reset: () => void pages.splice(0),
  });
  return pages;
}

/** Pages through a set until it holds together; the answer is the total that the service states, if it does. */
async function consistentSnapshot<O extends Operation>(
  run: ExtractContext,
  operation: O,
  args: OperationArgs<O>,
  sink: PageSink,
): Promise<number | undefined> {
  for (let tried = 1; ; tried++) {
    const { total, moved } = await readSnapshot(run, operation, args, sink);
    if (moved === undefined) return total;
    if (tried === MAX_ATTEMPTS)
      throw new TidemarkError('DATA', `${operation.name}: ${moved}, ${MAX_ATTEMPTS} times in a row`);
    run.log.info(`${run.client.target.name}: ${operation.name}: ${moved}; asking again`);
    run.requestOptions.meter.retries++;
    await sink.reset();
  }
}

/** One pass; `moved` says why it is not one consistent set, if it is not. */
async function readSnapshot<O extends Operation>(
  run: ExtractContext,
  operation: O,
  args: OperationArgs<O>,
  sink: PageSink,
): Promise<{ total?: number; moved?: string }> {
  const seen = new Set<string>();
  let total: number | undefined;
  let offset = 0;
  for await (const page of run.client.pages(operation, args, run.requestOptions)) {
    if (total !== undefined && page.total !== undefined && page.total !== total) {
      return { moved: `the total moved from ${total} to ${page.total} while paging` };
    }
    total = page.total ?? total;
    const items = page.items.filter((item, index) => isFresh(idOf(item, operation, offset + index + 1), seen));
    const whole = items.length === page.items.length;
    await sink.page({ items, offset, text: whole ? page.text : (stringify({ data: items }) ?? '') });
    offset += items.length;
  }
  if (total === undefined) return {};
  return offset === total ? { total } : { moved: `${offset} rows came where the service counts ${total}` };
}

/** Every JSON:API row has one (platform.md, Resources); without it nothing tells a row from another. */
function idOf(item: unknown, { name }: Operation, row: number): string {
  const id = optionalString(item, 'id');
  if (id === undefined) throw new TidemarkError('DATA', `${name}: row ${row} has no id`);
  return id;
}

function isFresh(id: string, seen: Set<string>): boolean {
  const before = seen.size;
  return seen.add(id).size > before;
}
