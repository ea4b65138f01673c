import { resolve } from 'node:path';
import type { Command } from 'commander';
import { parseTimestamp } from '../core/clock.ts';
import { loadConfig } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { type Acceptance, acceptFindings, requireStanding } from '../pipeline/find-accept.ts';
import { openPublished, withWarehouse } from '../warehouse/session.ts';

interface Options {
  readonly reason: string;
  readonly owner: string;
  readonly until: string;
}

export function registerAccept(findings: Command, context: () => Context): void {
  findings
    .command('accept')
    .description('take findings as they are until a day, or until they get worse')
    .argument('<id...>', 'IDs of findings')
    .requiredOption('--reason <text>', 'why')
    .requiredOption('--owner <name>', 'who answers for it')
    .requiredOption('--until <timestamp>', 'when it ends; a day alone ends as it begins, in UTC')
    .action((ids: readonly string[], options: Options) => accept(context(), ids, options));
}

async function accept(context: Context, ids: readonly string[], options: Options): Promise<void> {
  const config = loadConfig(resolve(context.cwd, context.configFile), context.env, context.redactor);
  const acceptance = acceptanceOf([...new Set(ids)], options);
  const published = await openPublished(config); // a mistyped ID is told at once, without the lock
  try {
    await requireStanding(published.database, published.files, acceptance.ids);
  } finally {
    published.database.close();
  }
  const now = context.clock.now();
  await withWarehouse({ config, purpose: 'findings accept', now, log: context.log }, ({ database, files }) =>
    acceptFindings(database, files, acceptance, now),
  );
  const told = { accepted: acceptance.ids, until: acceptance.until.toISOString() };
  context.stdout(
    context.json ? `${JSON.stringify(told, null, 2)}\n` : `accepted until ${told.until}: ${told.accepted.join(', ')}\n`,
  );
}

function acceptanceOf(ids: readonly string[], options: Options): Acceptance {
  const reason = options.reason.trim();
  const owner = options.owner.trim();
  const until = parseTimestamp(options.until);
  if (reason === '' || owner === '') throw new TidemarkError('USAGE', '--reason and --owner must say something');
  if (!until) throw new TidemarkError('USAGE', `--until ${options.until} is no time such as 2027-03-31`);
  return { ids, reason, owner, until };
}
