import { readFile } from 'node:fs/promises';
import { TidemarkError } from '../../core/errors.ts';
import { findFile } from '../../core/paths.ts';
import type { RunContext } from '../../extract/run-context.ts';
import type { Warehouse } from '../../warehouse/session.ts';
import { askFacts } from './ask.ts';
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
  const { facts, problems } = await askFacts(url, await listProducts(warehouse), run);
  await recordFacts(warehouse, facts, new URL(url).origin, asOf);
  for (const problem of problems) log.warn(`${problem}; the last facts are kept`);
  return problems;
}

/** @returns how many facts are new */
export async function recordFacts(
  { database, files }: Pick<Warehouse, 'database' | 'files'>,
  facts: readonly Fact[],
  origin: string,
  knownAt: Date,
): Promise<number> {
  if (facts.length === 0) return 0;
  const params = { facts: JSON.stringify(facts), origin, known_at: knownAt.toISOString() };
  return database.write(await files.read('warehouse/record_lifecycle'), params);
}

async function readPackaged({ files }: Pick<Warehouse, 'files'>): Promise<readonly Fact[]> {
  const path = findFile(files.roots, PACKAGED);
  if (!path) throw new TidemarkError('DATA', `${PACKAGED} does not exist`);
  return parseFacts(await readFile(path, 'utf8'), PACKAGED, new Date('9999-12-31')); // of the package, whatever a clock says
}

async function listProducts({ database, files }: Pick<Warehouse, 'database' | 'files'>): Promise<readonly string[]> {
  const rows = await database.rows(await files.read('warehouse/lifecycle_products'));
  return rows.map(({ product }) => String(product));
}
