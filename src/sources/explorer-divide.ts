import { type FailureKind, ServiceError } from '../http/errors.ts';
import { platform } from '../services/platform/operations.ts';
import { type ExtractContext, optionalString } from './source.ts';

export interface PartitionKey {
  readonly view: string;
  /** Text fields to divide by, with whether a row may have none. */
  readonly fields: readonly { readonly name: string; readonly nullable: boolean }[];
}

/** What a query that asks for too much comes to: the explorer gives up after 60 s (platform.md, Limits). */
const OVERLOAD_FAILURES: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'server',
  'timeout',
  'truncated',
  'too-large',
]);

export function isOverload(error: unknown): error is ServiceError {
  return error instanceof ServiceError && OVERLOAD_FAILURES.has(error.failure);
}

type Filters = readonly string[];

/** Filters of parts that together are what `filter` keeps; undefined when nothing is left to divide by. `blind`: without a look at the rows. */
export async function partition(
  run: ExtractContext,
  divisible: PartitionKey,
  filter: Filters,
  blind = false,
): Promise<readonly Filters[] | undefined> {
  const sample = blind ? [] : await fetchSample(run, divisible, filter);
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
async function fetchSample(
  { client, requestOptions }: ExtractContext,
  { view, fields }: PartitionKey,
  filter: Filters,
): Promise<readonly Readonly<Record<string, string>>[]> {
  const names = fields.map(({ name }) => name);
  const args = { type: view, filter, fields: names, 'page[size]': SAMPLE };
  try {
    for await (const { items } of client.pages(platform.explorer.query, args, requestOptions)) {
      return items.map((item) => readTexts(item, names));
    }
  } catch (error) {
    if (!isOverload(error)) throw error;
  }
  return [];
}

function readTexts(item: unknown, names: readonly string[]): Readonly<Record<string, string>> {
  const attributes = (item as { attributes?: unknown } | null)?.attributes;
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = optionalString(attributes, name.replaceAll('_', '-')) ?? optionalString(attributes, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
