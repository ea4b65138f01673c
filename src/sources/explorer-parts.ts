import { TidemarkError } from '../core/errors.ts';
import { type Failure, ServiceError } from '../http/service-error.ts';
import { platform } from '../services/platform.ts';
import { type Extraction, text } from './source.ts';

/**
 * Asks a query narrowed by `FIELD:OPERATOR:VALUE` filters and lands what comes. `part` numbers the tries: 0 is the whole.
 * @returns the total that the service states, if it does.
 */
export type AskPart = (filter: readonly string[], part: number) => Promise<number | undefined>;

export interface Divisible {
  readonly view: string;
  /** Text fields to divide by, with whether a row may have none. */
  readonly fields: readonly { readonly name: string; readonly nullable: boolean }[];
}

/** What a query that asks for too much comes to: the explorer gives up after 60 s (platform.md, Limits). */
const TOO_MUCH: ReadonlySet<Failure> = new Set<Failure>(['server', 'timeout', 'truncated', 'too-large']);

/** Divided so often at most: into 64 parts, or more where a field is nullable. */
const MAX_DEPTH = 6;
/** A minute each: more than one more would be better spent on parts. */
const HEAVY_ATTEMPTS = 2;

/**
 * Asks for the whole; where that is too much for the service, for parts of it. The parts are disjoint and whole because each
 * pair of filters is the negation of one another: `contains` and `does not contain` of one character in a field that every row
 * has, and `is_empty` beside them in one that a row may lack. Times cannot divide so: `is_before` and `is_after` are strict,
 * and neither keeps the moment itself.
 * @throws TidemarkError DATA when the parts do not add up to the total of the whole.
 */
export async function wholeOrParts(
  given: Extraction,
  divisible: Divisible,
  askWith: (run: Extraction) => AskPart,
): Promise<void> {
  const run = impatient(given, 1);
  const ask = askWith(impatient(given, HEAVY_ATTEMPTS));
  let parts = 0;
  let whole: number | undefined;

  const askOrDivide = async (filter: readonly string[], depth: number): Promise<number | undefined> => {
    const before = await run.land.mark();
    try {
      return await ask(filter, parts++);
    } catch (error) {
      if (!isTooMuch(error) || depth === MAX_DEPTH) throw error;
      await run.land.reset(before);
      if (depth === 0) whole = await totalOf(run, divisible.view);
      const division = await divide(run, divisible, filter);
      if (!division) throw error;
      if (depth === 0) run.log.info(`${run.service.target.name}: ${divisible.view}: ${error.message}; asking in parts`);
      return sum(await inTurn(division, (more) => askOrDivide([...filter, ...more], depth + 1)));
    }
  };

  const total = await askOrDivide([], 0);
  if (whole === undefined || total === undefined || whole === total) return;
  throw new TidemarkError('DATA', `${divisible.view}: the parts have ${total} rows where the whole counts ${whole}`);
}

function impatient(run: Extraction, heavyAttempts: number): Extraction {
  return { ...run, options: { ...run.options, heavyAttempts } };
}

function isTooMuch(error: unknown): error is ServiceError {
  return error instanceof ServiceError && TOO_MUCH.has(error.failure);
}

async function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}

function sum(totals: readonly (number | undefined)[]): number | undefined {
  return totals.reduce((one, other) => (one === undefined || other === undefined ? undefined : one + other), 0);
}

/** The total of the whole may come where its rows do not. */
async function totalOf({ service, options }: Extraction, view: string): Promise<number | undefined> {
  try {
    for await (const page of service.pages(platform.explorer.query, { type: view, 'page[size]': 1 }, options)) {
      return page.total;
    }
  } catch (error) {
    if (!isTooMuch(error)) throw error;
  }
  return undefined;
}

type Filters = readonly string[];

/** Filters of parts that together are what `filter` keeps; undefined when nothing is left to divide by. */
async function divide(run: Extraction, divisible: Divisible, filter: Filters): Promise<readonly Filters[] | undefined> {
  const sample = await sampleOf(run, divisible, filter);
  const open = divisible.fields.flatMap(({ name, nullable }) =>
    [...CHARACTERS].map((character) => ({ name, nullable, character })),
  );
  const usable = open.filter(
    ({ name, character }) =>
      !filter.includes(contains(name, character)) &&
      !filter.includes(lacks(name, character)) &&
      !filter.includes(isEmpty(name)),
  );
  const distance = ({ name, character }: (typeof usable)[number]) =>
    Math.abs(sample.filter((row) => row[name]?.includes(character)).length - sample.length / 2);
  const [best] = usable.sort((a, b) => distance(a) - distance(b));
  if (!best) return undefined;
  const { name, nullable, character } = best;
  if (!nullable) return [[contains(name, character)], [lacks(name, character)]];
  return [[contains(name, character)], [lacks(name, character), `${name}:is_not_empty`], [isEmpty(name)]];
}

/** Letters and digits by how often names have them, and none that a pattern could mean something by. */
const CHARACTERS = 'eaoinrst1203dlcupm456789ghbfkvwyjxqz';

const contains = (field: string, character: string) => `${field}:contains:${character}`;
const lacks = (field: string, character: string) => `${field}:does not contain:${character}`;
const isEmpty = (field: string) => `${field}:is_empty`;

const SAMPLE = 100;

/** Some rows' texts, to find what halves them; none where even a page is too much. */
async function sampleOf(
  { service, options }: Extraction,
  { view, fields }: Divisible,
  filter: Filters,
): Promise<readonly Readonly<Record<string, string>>[]> {
  const names = fields.map(({ name }) => name);
  const args = { type: view, filter, fields: names, 'page[size]': SAMPLE };
  try {
    for await (const { items } of service.pages(platform.explorer.query, args, options)) {
      return items.map((item) => textsOf(item, names));
    }
  } catch (error) {
    if (!isTooMuch(error)) throw error;
  }
  return [];
}

function textsOf(item: unknown, names: readonly string[]): Readonly<Record<string, string>> {
  const attributes = (item as { attributes?: unknown } | null)?.attributes;
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = text(attributes, name.replaceAll('_', '-')) ?? text(attributes, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
