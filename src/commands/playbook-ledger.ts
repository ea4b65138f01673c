import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import type { Context } from '../core/context.ts';
import { EXIT } from '../core/errors.ts';
import { loadDefinitions } from '../pipeline/plugins.ts';
import type { Playbook } from '../remediation/define.ts';
import { readLedger, toLedgerRow } from '../remediation/ledger.ts';
import { loadPlaybooks } from '../remediation/registry.ts';
import { restoreLedger } from '../remediation/restore-ledger.ts';
import { settleLedger } from '../remediation/settle-ledger.ts';
import { readConfig } from './options.ts';
import { plural, writeResult } from './output.ts';
import { formatLedger } from './playbook-output.ts';

interface LedgerOptions {
  readonly plan?: string;
  readonly settle?: boolean;
  readonly restore?: boolean;
}

export function registerLedger(group: Command, context: () => Context): void {
  group
    .command('ledger')
    .description('list every started action with its outcome')
    .option('--plan <id>', 'only actions of this plan')
    .option('--settle', 'first read unconfirmed actions again and record what became of them')
    .option('--restore', 'write a missing ledger from the table actions')
    .action((options: LedgerOptions) => ledger(context(), options));
}

/** The configuration and all playbooks, which are validated before any is used. */
export async function preparePlaybooks(
  context: Context,
): Promise<{ readonly config: Config; readonly playbooks: readonly Playbook[] }> {
  const config = readConfig(context);
  const { playbooks } = await loadDefinitions(config);
  return { config, playbooks: await loadPlaybooks(config, playbooks) };
}

async function ledger(context: Context, { plan: planId, settle = false, restore = false }: LedgerOptions) {
  const { config, playbooks } = await preparePlaybooks(context);
  if (restore) context.log.info(`the ledger is restored: ${plural(await restoreLedger(config, context), 'action')}`);
  if (settle) {
    const settled = await settleLedger({ config, context, playbooks, planId });
    if (settled.some(({ isSettled }) => !isSettled)) context.exit(EXIT.incomplete);
  }
  const rows = (await readLedger(config.data))
    .map(toLedgerRow)
    .filter(({ plan_id }) => planId === undefined || plan_id === planId);
  writeResult(context, rows, () => formatLedger(rows, context.colors));
}
