import type { Target } from '../../config/config.ts';
import { findUnprovenListings } from '../../findings/listing-proofs.ts';
import { readRules } from '../../findings/rules.ts';
import type { TokenInfo } from '../../services/token/token-info.ts';
import type { SqlFiles } from '../../warehouse/sql-files.ts';
import type { CheckList } from './check.ts';

/**
 * Warns of listings that may be a part of what the service has: rules that conclude from what is not listed stay unknown there.
 * Sources from whose absence no rule concludes are left out.
 */
export async function checkListings(
  list: CheckList,
  files: SqlFiles,
  target: Target,
  sources: readonly string[],
  token: TokenInfo | undefined,
): Promise<void> {
  const { rules } = await readRules(files);
  for (const { source, why } of await findUnprovenListings(files, target, sources, token)) {
    const unknown = rules.filter(({ proves, asks }) => [...proves, ...asks].includes(source)).map(({ name }) => name);
    if (unknown.length > 0) list.warn('sees', `${source}: ${why}; ${unknown.join(', ')} may stay unknown`);
  }
}
