import type { Config } from '../../config/config.ts';
import type { Context } from '../../core/context.ts';
import { overlayRoots } from '../../core/paths.ts';
import { ServiceClients } from '../../services/clients.ts';
import { sources as builtInSources } from '../../sources/index.ts';
import type { SourceDefinition } from '../../sources/source.ts';
import { createSqlFiles } from '../../warehouse/sql-files.ts';
import type { Check } from './check.ts';
import { checkMail } from './check-mail.ts';
import { checkSecrets } from './check-secrets.ts';
import { checkTarget } from './check-target.ts';
import { checkWarehouse } from './check-warehouse.ts';

export type { Check } from './check.ts';

/** Checks every target and its sources with a few cheap calls, the warehouse and the mail server. Changes nothing. */
export async function diagnose(
  config: Config,
  context: Context,
  sources: readonly SourceDefinition[] = builtInSources,
): Promise<readonly Check[]> {
  const log = { ...context.log, info: () => {} };
  const clients = new ServiceClients(config, { ...context, log }, context.signal);
  const files = createSqlFiles(overlayRoots(config.directory));
  const checks = config.targets.map((target) => checkTarget({ ...context, files }, clients, target, sources));
  const targets = await Promise.all(checks).finally(() => clients.close());
  return [...checkSecrets(config), ...targets.flat(), ...(await checkWarehouse(config)), ...(await checkMail(config))];
}
