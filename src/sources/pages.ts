import { stringify } from 'lossless-json';
import { TidemarkError } from '../core/errors.ts';
import type { ArgsOf, Operation } from '../services/operation.ts';
import { type Extraction, text } from './source.ts';

/** How often a set that moved while it was paged through is asked for again. */
const TRIES = 3;

/** One page of a consistent set: its JSON text without repeated items, and how many items the pages before it held. */
export interface SetPage {
  readonly text: string;
  readonly items: readonly unknown[];
  readonly offset: number;
}

interface Sink {
  readonly page: (page: SetPage) => Promise<void> | void;
  /** The set moved: what came so far is void. */
  readonly restart: () => Promise<void> | void;
}

/**
 * Lands the pages of a list, complete: without repeats, and as many rows as the service says there are.
 * @param write lands one page. @default as a line
 * @returns that number, where the service says it.
 */
export async function landPages<O extends Operation>(
  run: Extraction,
  operation: O,
  args: ArgsOf<O>,
  write: (page: SetPage) => Promise<void> = (page) => run.land.line({}, page.text),
): Promise<number | undefined> {
  const before = await run.land.mark();
  const total = await wholeSet(run, operation, args, {
    page: write,
    restart: () => run.land.reset(before),
  });
  if (total !== undefined) run.land.expect(total);
  return total;
}

/** The pages of a small list, complete as `landPages` has them, in memory. */
export async function readPages<O extends Operation>(
  run: Extraction,
  operation: O,
  args: ArgsOf<O>,
): Promise<readonly SetPage[]> {
  const pages: SetPage[] = [];
  await wholeSet(run, operation, args, { page: (page) => void pages.push(page), restart: () => void pages.splice(0) });
  return pages;
}

/** Pages through a set until it holds together; the answer is the total that the service states, if it does. */
async function wholeSet<O extends Operation>(
  run: Extraction,
  operation: O,
  args: ArgsOf<O>,
  sink: Sink,
): Promise<number | undefined> {
  for (let tried = 1; ; tried++) {
    const { total, moved } = await pageThrough(run, operation, args, sink);
    if (moved === undefined) return total;
    if (tried === TRIES) throw new TidemarkError('DATA', `${operation.name}: ${moved}, ${TRIES} times in a row`);
    run.log.info(`${run.service.target.name}: ${operation.name}: ${moved}; asking again`);
    run.options.meter.retries++;
    await sink.restart();
  }
}

/** One pass; `moved` says why it is not one consistent set, if it is not. */
async function pageThrough<O extends Operation>(
  run: Extraction,
  operation: O,
  args: ArgsOf<O>,
  sink: Sink,
): Promise<{ total?: number; moved?: string }> {
  const seen = new Set<string>();
  let total: number | undefined;
  let offset = 0;
  for await (const page of run.service.pages(operation, args, run.options)) {
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
  const id = text(item, 'id');
  if (id === undefined) throw new TidemarkError('DATA', `${name}: row ${row} has no id`);
  return id;
}

function isFresh(id: string, seen: Set<string>): boolean {
  const before = seen.size;
  return seen.add(id).size > before;
}
