import { readFile } from 'node:fs/promises';
import type { WorkContext } from '../../core/context.ts';
import { errorMessage } from '../../core/errors.ts';
import { findFile } from '../../core/paths.ts';
import type { RunContext } from '../../extract/run-context.ts';
import type { OpenWarehouse } from '../../warehouse/session.ts';
import { toJsonParam } from '../../warehouse/sql-params.ts';
import { getText } from '../get-text.ts';
import { type Fact, parseFacts } from './document.ts';

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
export async function recordFacts(
  { database, files }: OpenWarehouse,
  facts: readonly Fact[],
  origin: string,
  knownAt: Date,
): Promise<number> {
  if (facts.length === 0) return 0;
  const params = { facts: toJsonParam(facts), origin, known_at: knownAt.toISOString() };
  return database.write(files.read('warehouse/record_lifecycle'), params);
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
  return Promise.all(
    asked.map((product) => ask(new URL(template.replaceAll(PLACEHOLDER, product ?? '')), product, context)),
  );
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
