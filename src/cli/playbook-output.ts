import type { ApplyResult } from '../act/apply.ts';
import type { Playbook } from '../act/define.ts';
import { type LedgerEntry, type LedgerRow, toLedgerRow } from '../act/ledger.ts';
import type { Plan } from '../act/plan-file.ts';
import { isReversible } from '../act/registry.ts';
import { stripControls } from '../core/log.ts';
import { plural } from '../core/plural.ts';
import { formatTable, formatTime, type TableStyle } from './output.ts';

/** IDs listed for each reason to skip. */
const MAX_IDS = 3;

export function formatPlaybooks(playbooks: readonly Playbook[], style: TableStyle): string {
  const rows = playbooks.map((playbook) => [
    playbook.name,
    playbook.rule,
    listOperations(playbook).join(', '),
    isReversible(playbook) ? 'yes' : 'no',
    playbook.description,
  ]);
  const table = formatTable(['playbook', 'rule', 'operations', 'reversible', 'description'], rows, {
    ...style,
    wholeColumns: ['playbook'],
  });
  return `${table}\nTo write a playbook, see docs/playbooks.md.\n`;
}

export function toPlaybookRow(playbook: Playbook) {
  const { name, rule, description: about, table } = playbook;
  return {
    playbook: name,
    rule,
    about,
    table,
    operations: listOperations(playbook),
    reversible: isReversible(playbook),
  };
}

function listOperations({ actions: steps }: Playbook): readonly string[] {
  return steps.map(({ operation }) => operation);
}

/** The actions of a plan with their reasons, `details` of them, then the skipped findings. */
export function formatPlan(
  plan: Plan,
  style: TableStyle,
  { entries = [], details = '' }: { readonly entries?: readonly LedgerEntry[]; readonly details?: string } = {},
): string {
  const begun = new Map(selectPlanRows(plan, entries).map((row) => [row.action_id, row]));
  const labels = ['id', 'action', 'target', 'reason', 'since', 'reversible', ...(begun.size > 0 ? ['status'] : [])];
  const rows = plan.actions.map(({ action_id, summary, target, why, since, irreversible }) => [
    action_id,
    summary,
    target,
    shortenReason(why, summary),
    since.slice(0, 10),
    irreversible ? 'no' : 'yes',
    ...(begun.size > 0 ? [formatStatus(begun.get(action_id))] : []),
  ]);
  const irreversibleCount = plan.actions.filter(({ irreversible }) => irreversible).length;
  const note = irreversibleCount === 0 ? '' : `, ${irreversibleCount} of them irreversible`;
  return [
    rows.length === 0
      ? 'no actions\n'
      : formatTable(labels, rows, { ...style, statusColumns: ['status'], wholeColumns: ['id'] }),
    ...(details === '' ? [] : [details]),
    ...formatSkipped(plan, style),
    `plan ${plan.plan_id} of ${plan.playbook}: ${plural(rows.length, 'action')}${note}, ${plan.skipped.length} skipped`,
    ...formatAcceptance(plan),
    ...formatTargets(plan).map((line) => stripControls(line)),
    `${formatApproval(plan)}; valid until ${formatTime(plan.expires_at)}`,
    '',
  ].join('\n');
}

/** A reason without what the action beside it says: the subject at its beginning, and a list at its end. */
function shortenReason(why: string, summary: string): string {
  const said = summary.toLowerCase();
  const list = why.lastIndexOf(': ');
  const rest = list > 0 && summary.includes(why.slice(list + 2)) ? why.slice(0, list) : why;
  const words = rest.split(' ');
  let shared = 0;
  while (
    shared < words.length &&
    said.includes(
      words
        .slice(0, shared + 1)
        .join(' ')
        .toLowerCase(),
    )
  )
    shared++;
  return words.slice(shared).join(' ');
}

function formatAcceptance({ undoes, accept_days }: Plan): readonly string[] {
  if (undoes === undefined) return [];
  if (accept_days === undefined) return ['a job may apply the same again: the findings are not accepted'];
  return [
    `once undone, the findings are accepted for ${plural(accept_days, 'day')}, so that no job applies the same again`,
  ];
}

function selectPlanRows({ plan_id }: Plan, entries: readonly LedgerEntry[]): readonly LedgerRow[] {
  return entries.map(toLedgerRow).filter((row) => row.plan_id === plan_id);
}

function formatStatus(row: LedgerRow | undefined): string {
  if (!row) return '';
  return row.reason === null ? row.status : `${row.status}: ${row.reason}`;
}

function formatSkipped({ skipped }: Plan, style: TableStyle): readonly string[] {
  const byReason = new Map<string, string[]>();
  for (const { finding_id, reason } of skipped) byReason.set(reason, [...(byReason.get(reason) ?? []), finding_id]);
  if (byReason.size === 0) return [];
  const rows = [...byReason].map(([reason, ids]) => {
    const more = ids.length > MAX_IDS ? ` +${ids.length - MAX_IDS}` : '';
    return [`${ids.slice(0, MAX_IDS).join(', ')}${more}`, reason];
  });
  return [formatTable(['skipped', 'reason'], rows, style)];
}

function formatApproval({ approvals }: Plan): string {
  if (approvals.length === 0) return 'not approved';
  return approvals
    .map(({ by, at, irreversible, signature }) => {
      const signed = signature === undefined ? '' : ', signed';
      return `approved by ${by} at ${formatTime(at)}${signed}${irreversible ? ', irreversible actions included' : ''}`;
    })
    .join('; ');
}

/** Where a plan acts, and what the services there say they are. */
function formatTargets({ targets, planned_by, selection }: Plan): readonly string[] {
  const planner = planned_by === null ? [] : [`planned by ${planned_by.who} with ${planned_by.how}`];
  const lines = (targets ?? []).map(({ name, url, organization, namespace, identity }) => {
    const parts = { organization, namespace, ...identity };
    const known = Object.entries(parts).flatMap(([field, value]) => (value === null ? [] : [`${field} ${value}`]));
    return `target ${name}: ${[url, ...known].join(', ')}`;
  });
  return [...lines, ...planner, ...(selection ? [formatSelection(selection)] : [])];
}

function formatSelection({ findings, subjects, limit, remaining }: NonNullable<Plan['selection']>): string {
  const chosen = [
    ...findings.map((id) => `finding ${id}`),
    ...subjects.map((name) => `subject ${name}`),
    ...(limit === null ? [] : [`at most ${plural(limit, 'finding')}`]),
  ];
  return `selected: ${chosen.join(', ')}; ${plural(remaining, 'finding')} not selected`;
}

export function formatApplyResult({ rows, stopped }: ApplyResult, { actions }: Plan, style: TableStyle): string {
  const summaries = new Map(actions.map(({ action_id, summary }) => [action_id, summary]));
  const lines = rows.map(({ action_id, status, reason }) => [action_id, status, summaries.get(action_id), reason]);
  const counts = countStatuses(rows);
  const remaining = actions.length - rows.length;
  return [
    lines.length === 0
      ? 'no actions were applied\n'
      : formatTable(['id', 'status', 'action', 'reason'], lines, {
          ...style,
          statusColumns: ['status'],
          wholeColumns: ['id'],
        }),
    `${[...counts, ...(remaining > 0 ? [`${remaining} not reached`] : [])].join(', ')}${stopped ? `; stopped: ${stopped.reason}` : ''}`,
    '',
  ].join('\n');
}

/** One line for a plan whose actions all have a final outcome. */
export function formatFinished({ plan_id, rows }: ApplyResult): string {
  return `plan ${plan_id} is finished, nothing to do: ${countStatuses(rows).join(', ')}\n`;
}

function countStatuses(rows: ApplyResult['rows']): readonly string[] {
  return [...new Set(rows.map(({ status }) => status))].map(
    (status) => `${rows.filter((row) => row.status === status).length} ${status}`,
  );
}
