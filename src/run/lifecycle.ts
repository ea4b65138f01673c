import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { DAY_MS } from '../core/clock.ts';
import type { WorkContext } from '../core/context.ts';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { tryParseJson } from '../core/json.ts';
import { findFile } from '../core/paths.ts';
import type { RunContext } from '../extract/run-context.ts';
import type { OpenWarehouse } from '../warehouse/session.ts';
import { toJsonParam } from '../warehouse/sql-params.ts';
import { getText } from './get-text.ts';

/** In the package, and where a user has a file of this name beside the configuration, that one. */
const PACKAGED = 'queries/lifecycle/products.json';

/**
 * Brings the table `lifecycle` to what the package carries and `lifecycle.url` answers. What is not answered keeps the facts that are known.
 * @returns what was not answered, one line for each
 */
export async function refreshLifecycle(run: RunContext, isOffline = false): Promise<readonly string[]> {
  const { config, warehouse, log, asOf } = run;
  await recordFacts(warehouse, await readPackaged(warehouse), 'packaged', asOf);
  const { url } = config.lifecycle ?? {};
  if (url === undefined || isOffline) return [];
  const { database, files } = warehouse;
  const products = await database.rows(files.read('warehouse/lifecycle_products'));
  const names = products.map(({ product }) => String(product));
  const answers = (await askFacts(url, names, run)).flat();
  const facts = answers.filter((answer) => typeof answer !== 'string');
  await recordFacts(warehouse, facts, new URL(url).origin, asOf);
  const problems = answers.filter((answer) => typeof answer === 'string');
  for (const problem of problems) log.warn(`${problem}; the last facts are kept`);
  return problems;
}

/** @returns how many facts are new */
export async function recordFacts(to: OpenWarehouse, facts: readonly Fact[], origin: string, knownAt: Date) {
  if (facts.length === 0) return 0;
  const params = { facts: toJsonParam(facts), origin, known_at: knownAt.toISOString() };
  return to.database.write(to.files.read('warehouse/record_lifecycle'), params);
}

async function readPackaged({ files }: OpenWarehouse): Promise<readonly Fact[]> {
  const path = findFile(files.roots, PACKAGED) as string;
  return parseFacts(await readFile(path, 'utf8'), PACKAGED, new Date('9999-12-31')); // of the package, whatever a clock says
}

/** For each answer, and all are asked at once: the facts are no reason to delay a night. */
const TIMEOUT_MS = 30_000;

/** The placeholder in `lifecycle.url` that the name of each product replaces. */
const PLACEHOLDER = '{product}';
/** What is asked for at an address without a path, as endoflife.date has it. */
const API_PATH = `/api/v1/products/${PLACEHOLDER}`;

/**
 * Asks at `lifecycle.url`, once for each product if the address has a place for its name. A request that fails costs only its own facts.
 * @returns the facts, or why there are none
 */
async function askFacts(url: string, products: readonly string[], context: WorkContext) {
  const { origin, pathname } = new URL(url);
  const template = pathname === '/' ? `${origin}${API_PATH}` : url;
  const asked = template.includes(PLACEHOLDER) ? products : [undefined];
  const toUrl = (product = '') => new URL(template.replaceAll(PLACEHOLDER, product));
  return Promise.all(asked.map((product) => ask(toUrl(product), product, context)));
}

/** @param product undefined where one document has all products */
async function ask(url: URL, product: string | undefined, context: WorkContext): Promise<readonly Fact[] | string> {
  try {
    const facts = parseFacts(await getText(url, context, TIMEOUT_MS), 'the answer', context.clock.now());
    const other = product === undefined ? undefined : facts.find((fact) => fact.product !== product);
    if (other) throw new Error(`the answer is about ${other.product}`);
    return facts;
  } catch (error) {
    return `lifecycle facts of ${product ?? 'all products'} from ${url.host}: ${errorMessage(error)}`;
  }
}

/** A day is `2026-04-29`. */
const day = z.iso.date().nullable();
const product = z.string().regex(/^[a-z0-9][a-z0-9.-]{0,59}$/u, 'must be a name such as terraform');
const version = z.string().regex(/^[\w.+~-]{1,60}$/u, 'must be a version such as 1.13');

const packagedRelease = z.object({
  product,
  cycle: version,
  released_at: day,
  support_ends: day,
  /** Whether support has ended: also on a day that the source does not name. */
  ended: z.boolean(),
  /** The cycle whose release ends the support. */
  ends_with: version.nullable(),
  latest: version.nullable(),
  latest_at: day,
});
/** The form of `queries/lifecycle/products.json`. */
const packaged = z
  .object({ data_as_of: z.iso.date(), releases: z.array(packagedRelease).min(1) })
  .transform(({ data_as_of, releases }) =>
    releases.map(({ support_ends, ended, ...release }) => ({
      ...release,
      support_ends_at: support_ends,
      ended: ended && support_ends === null,
      data_as_of,
    })),
  );

/** What a source knows of one cycle of a product. `ended`: support has ended, and `support_ends_at` is not known. */
export type Fact = Readonly<z.output<typeof packaged>[number]>;

const answeredRelease = z.object({
  name: version,
  releaseDate: day,
  isEol: z.boolean(),
  eolFrom: day.default(null),
  latest: z.object({ name: version, date: day.optional() }).nullable().optional(),
});
/** An answer to `/api/v1/products/NAME` of endoflife.date (https://endoflife.date/docs/api/v1/). */
const answered = z
  .object({
    schema_version: z.string().regex(/^1\./u, 'must be 1.x'),
    generated_at: z.iso.datetime({ offset: true }),
    result: z.object({ name: product, releases: z.array(answeredRelease).min(1) }),
  })
  .transform(({ generated_at, result }): readonly Fact[] =>
    result.releases.map(({ name, releaseDate, isEol, eolFrom, latest }) => ({
      product: result.name,
      cycle: name,
      released_at: releaseDate,
      support_ends_at: eolFrom,
      ended: isEol && eolFrom === null,
      ends_with: null,
      latest: latest?.name ?? null,
      latest_at: latest?.date ?? null,
      data_as_of: new Date(generated_at).toISOString().slice(0, 10),
    })),
  );

const HINT = 'give a document as queries/lifecycle/products.json, or as endoflife.date/api/v1/products/NAME answers';

/**
 * The facts of a document in either form.
 * @param what it is, for the error, such as its file
 * @throws TidemarkError DATA if it is not such a document, or of a day that is still to come.
 */
export function parseFacts(text: string, what: string, now: Date): readonly Fact[] {
  const document = tryParseJson(text);
  if (document === undefined) throw new TidemarkError('DATA', `${what} is not JSON`, { hint: HINT });
  const isAnswer = typeof document === 'object' && document !== null && 'schema_version' in document;
  const { data: found, error } = (isAnswer ? answered : packaged).safeParse(document);
  if (!found) {
    const [issue] = error.issues;
    const where = issue?.path.join('.') || 'the document';
    throw new TidemarkError('DATA', `${what}: ${where}: ${issue?.message}`, { hint: HINT });
  }
  const [first] = found;
  // A clock may be a day ahead of the other one.
  if (first && Date.parse(first.data_as_of) > now.getTime() + DAY_MS) {
    throw new TidemarkError('DATA', `${what}: its facts are of ${first.data_as_of}, which is still to come`);
  }
  const names = found.map(({ product: name, cycle }) => `${name} ${cycle}`);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new TidemarkError('DATA', `${what}: ${twice} is there twice`);
  return found;
}
