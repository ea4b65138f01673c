import type { Playbook } from '../playbooks/playbook.ts';
import type { Applied } from '../remediation/apply.ts';
import type { Entry } from '../remediation/ledger.ts';
import { type LedgerRow, ledgerRows } from '../remediation/ledger-rows.ts';
import type { Plan } from '../remediation/plan-file.ts';
import { isReversible } from '../remediation/registry.ts';
import { textTable } from './text-table.ts';

/** Skipped findings of one reason are one line; so many of their IDs are named. */
const NAMED = 3;

export function playbookList(playbooks: readonly Playbook[]): string {
  const rows = playbooks.map((playbook) => [
    playbook.name,
    playbook.rule,
    operationsOf(playbook).join(', '),
    isReversible(playbook) ? 'yes' : 'no',
    playbook.about,
  ]);
  return `${textTable(['playbook', 'rule', 'operations', 'can be undone', 'does'], rows)}\n\nto write one, see CONTRIBUTING.md and docs/playbooks.md\n`;
}

export function playbookRow(playbook: Playbook) {
  const { name, rule, about, table } = playbook;
  return { playbook: name, rule, about, table, operations: operationsOf(playbook), reversible: isReversible(playbook) };
}

function operationsOf({ steps }: Playbook): readonly string[] {
  return steps.map(({ operation }) => operation);
}

/** What a plan would do: what, where, why, since when, and whether it can be undone; then what it leaves and why. */
export function planText(plan: Plan, entries: readonly Entry[] = []): string {
  const done = new Map(ofPlan(plan, entries).map((row) => [row.action_id, row]));
  const head = ['id', 'what', 'where', 'why', 'since', 'undo', ...(done.size > 0 ? ['status'] : [])];
  const rows = plan.actions.map(({ action_id, summary, target, why, since, irreversible }) => [
    action_id,
    summary,
    target,
    why,
    since.slice(0, 10),
    irreversible ? 'no' : 'yes',
    ...(done.size > 0 ? [statusText(done.get(action_id))] : []),
  ]);
  const lasting = plan.actions.filter(({ irreversible }) => irreversible).length;
  const undo = lasting === 0 ? '' : `, ${lasting} of them cannot be undone`;
  return [
    rows.length === 0 ? 'nothing to do' : textTable(head, rows),
    '',
    ...skippedLines(plan),
    `plan ${plan.plan_id} of ${plan.playbook}: ${counted(rows.length, 'action')}${undo}, ${plan.skipped.length} skipped`,
    `${approvalText(plan)}; it holds until ${plan.expires_at}`,
    '',
  ].join('\n');
}

function ofPlan({ plan_id }: Plan, entries: readonly Entry[]): readonly LedgerRow[] {
  return ledgerRows(entries).filter((row) => row.plan_id === plan_id);
}

function statusText(row: LedgerRow | undefined): string {
  if (!row) return '';
  return row.reason === null ? row.status : `${row.status}: ${row.reason}`;
}

function skippedLines({ skipped }: Plan): readonly string[] {
  const byReason = new Map<string, string[]>();
  for (const { finding_id, reason } of skipped) byReason.set(reason, [...(byReason.get(reason) ?? []), finding_id]);
  if (byReason.size === 0) return [];
  const rows = [...byReason].map(([reason, ids]) => {
    const more = ids.length > NAMED ? ` +${ids.length - NAMED}` : '';
    return [`${ids.slice(0, NAMED).join(', ')}${more}`, reason];
  });
  return [textTable(['skipped', 'because'], rows), ''];
}

function approvalText({ approval }: Plan): string {
  if (approval === null) return 'not approved';
  return `approved by ${approval.by} at ${approval.at}${approval.irreversible ? ', with what cannot be undone' : ''}`;
}

export function appliedText({ rows, stopped }: Applied, { actions }: Plan): string {
  const summaries = new Map(actions.map(({ action_id, summary }) => [action_id, summary]));
  const lines = rows.map(({ action_id, status, reason }) => [action_id, status, summaries.get(action_id), reason]);
  const counts = [...new Set(rows.map(({ status }) => status))].map(
    (status) => `${rows.filter((row) => row.status === status).length} ${status}`,
  );
  const left = actions.length - rows.length;
  return [
    lines.length === 0 ? 'nothing was done' : textTable(['id', 'status', 'what', 'reason'], lines),
    '',
    `${[...counts, ...(left > 0 ? [`${left} not reached`] : [])].join(', ')}${stopped ? `; stopped: ${stopped.reason}` : ''}`,
    '',
  ].join('\n');
}

export function ledgerText(rows: readonly LedgerRow[]): string {
  if (rows.length === 0) return 'nothing was done yet\n';
  const lines = rows.map((row) => [
    row.started_at.slice(0, 19),
    row.status,
    row.operation,
    row.target,
    Object.entries(row.params as Readonly<Record<string, unknown>>)
      .map(([name, value]) => `${name}=${value}`)
      .join(' '),
    row.approved_by,
    row.plan_id,
    row.reason,
  ]);
  return `${textTable(['at', 'status', 'operation', 'target', 'parameters', 'approved by', 'plan', 'reason'], lines)}\n`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
