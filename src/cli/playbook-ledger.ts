import { type LedgerRow, ledgerFile, toLedgerRow } from '../act/ledger.ts';
import { readLedger, repairLedger, verifyLedger } from '../act/ledger-table.ts';
import { settleLedger } from '../act/settle-ledger.ts';
import type { Context } from '../core/context.ts';
import { EXIT, TidemarkError } from '../core/errors.ts';
import { stripControls } from '../core/log.ts';
import { plural } from '../core/plural.ts';
import type { Switches, Texts } from './define.ts';
import { readLocalConfig, readPlaybooks } from './options.ts';
import { formatTable, formatTime, type TableStyle, writeResult } from './output.ts';

export async function ledger(
  context: Context,
  { plan: planId, settle, restore, accept }: Texts<'plan'> & Switches<'settle' | 'restore' | 'accept'>,
) {
  if (restore && accept) throw new TidemarkError('USAGE', '--restore and --accept cannot be used together');
  const { config, playbooks } = await readPlaybooks(context);
  const isWanted = ({ plan_id }: Pick<LedgerRow, 'plan_id'>) => planId === undefined || plan_id === planId;
  if (restore || accept) {
    const count = await repairLedger(config, context, restore ? '--restore' : '--accept');
    context.log.info(`the ledger is ${restore ? 'restored' : 'accepted'}: ${plural(count, 'action')}`);
  }
  if (settle) {
    const settled = await settleLedger({ config, context, playbooks, isWanted });
    if (settled.some(({ status }) => status === 'unconfirmed')) context.exit(EXIT.incomplete);
  }
  const rows = [...(await readLedger(config)).values()].filter(isWanted).map(toLedgerRow);
  const none = planId === undefined ? 'the ledger is empty' : `the ledger has no action of plan ${planId}`;
  writeResult(context, rows, () => (rows.length === 0 ? `${stripControls(none)}\n` : formatLedger(rows, context)));
}

/** Says what is wrong with the ledger, and where. It reads only, also while a plan is applied. */
export async function verify(context: Context): Promise<void> {
  const config = readLocalConfig(context);
  const { head, seen, problems } = await verifyLedger(config);
  const [known = null] = seen.heads;
  const file = ledgerFile(config.data);
  writeResult(context, { ledger: file, ...head, seen: known, problems }, () => {
    const end = `the warehouse has seen ${known === null ? 'none of it' : plural(known.lines, 'line')}\n`;
    if (problems.length === 0) return `${file} is sound: ${plural(head.lines, 'line')}; ${end}`;
    const rows = problems.map(({ line, problem }) => [line === null ? '' : String(line), problem]);
    return `${formatTable(['line', 'problem'], rows, context)}${file} is refused: ${end}`;
  });
  if (problems.length > 0) context.exit(EXIT.data);
}

function formatLedger(rows: readonly LedgerRow[], style: TableStyle): string {
  const lines = rows.map(({ started_at, status, operation, target, params, approved_by, plan_id, reason }) => {
    const parameters = Object.entries(params).map(([name, value]) => `${name}=${value}`);
    return [formatTime(started_at), status, operation, target, parameters.join(' '), approved_by, plan_id, reason];
  });
  const labels = ['at', 'status', 'operation', 'target', 'parameters', 'approved by', 'plan', 'reason'];
  return formatTable(labels, lines, {
    ...style,
    wholeColumns: ['plan'],
    spareColumns: ['approved by', 'parameters', 'operation'],
  });
}
