import { matchDefinition } from '../act/action-call.ts';
import type { ApplyResult } from '../act/apply.ts';
import type { ActionDefinition, Change, Playbook } from '../act/define.ts';
import { type LedgerEntry, type LedgerRow, toLedgerRow } from '../act/ledger.ts';
import type { Action, Plan } from '../act/plan-file.ts';
import { ask } from '../act/playbook-fault.ts';
import { getOperation, summarizePlaybooks } from '../act/registry.ts';
import type { Config } from '../config/config.ts';
import type { Colors } from '../core/color.ts';
import type { Context } from '../core/context.ts';
import { diffValues } from '../core/diff.ts';
import { groupBy } from '../core/group-by.ts';
import { plural } from '../core/plural.ts';
import type { Redactor } from '../core/redact/redactor.ts';
import { isSecretField } from '../core/redact/secret-fields.ts';
import { buildRequest, collectSecrets } from '../services/build-request.ts';
import { bounded, clean, paintLine } from './diff-text.ts';
import { formatTable, formatTime, type TableStyle } from './output.ts';

/** IDs listed for each reason to skip. */
const MAX_IDS = 3;

export function formatPlaybooks(playbooks: readonly Playbook[], style: TableStyle): string {
  const rows = summarizePlaybooks(playbooks).map(({ playbook, rule, operations, reversible, about }) => {
    return [playbook, rule, operations.join(', '), reversible ? 'yes' : 'no', about];
  });
  const labels = ['playbook', 'rule', 'operations', 'reversible', 'description'];
  const table = formatTable(labels, rows, {
    ...style,
    wholeColumns: ['playbook'],
    spareColumns: ['operations', 'rule'],
  });
  return `${table}\nTo write a playbook, see docs/playbooks.md.\n`;
}

interface PlanDetails {
  readonly entries?: readonly LedgerEntry[];
  readonly details?: string;
  /** Of each approval why it does not count. */
  readonly doubts?: readonly (string | undefined)[];
}

/** The actions of a plan with their reasons, `details` of them, then the skipped findings. */
export function formatPlan(
  plan: Plan,
  style: TableStyle,
  { entries = [], details = '', doubts = [] }: PlanDetails = {},
): string {
  const started = entries.map(toLedgerRow).filter(({ plan_id }) => plan_id === plan.plan_id);
  const begun = new Map(started.map((row) => [row.action_id, row]));
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
      : formatTable(labels, rows, { ...style, wholeColumns: ['id'], spareColumns: ['since', 'target'] }),
    ...(details === '' ? [] : [details]),
    ...formatSkipped(plan, style),
    ...[
      `plan ${plan.plan_id} of ${plan.playbook}: ${plural(rows.length, 'action')}${note}, ${plan.skipped.length} skipped`,
      // What an approver signs: whoever can write the plan may replace it before it is signed.
      ...(details === '' ? [] : [`digest: sha256:${plan.digest}`]),
      ...formatAcceptance(plan),
      ...formatTargets(plan),
      `${formatApproval(plan, doubts)}; valid until ${formatTime(plan.expires_at)}`,
    ].map(clean),
    '',
  ].join('\n');
}

/** A reason without what the action beside it says: the subject at its beginning, and a list at its end. */
function shortenReason(why: string, summary: string): string {
  const said = summary.toLowerCase();
  const list = why.lastIndexOf(': ');
  const rest = list > 0 && summary.includes(why.slice(list + 2)) ? why.slice(0, list) : why;
  const words = rest.split(' ');
  const isSaid = (count: number) => said.includes(words.slice(0, count).join(' ').toLowerCase());
  return words.slice(words.findLastIndex((_, last) => isSaid(last + 1)) + 1).join(' ');
}

function formatAcceptance({ undoes, accept_days }: Plan): readonly string[] {
  if (undoes === undefined) return [];
  if (accept_days === undefined) return ['a job may apply the same again: the findings are not accepted'];
  return [
    `once undone, the findings are accepted for ${plural(accept_days, 'day')}, so that no job applies the same again`,
  ];
}

function formatStatus(row: LedgerRow | undefined): string {
  if (!row) return '';
  return row.reason === null ? row.status : `${row.status}: ${row.reason}`;
}

function formatSkipped({ skipped }: Plan, style: TableStyle): readonly string[] {
  if (skipped.length === 0) return [];
  const rows = [...groupBy(skipped, ({ reason }) => reason)].map(([reason, group]) => {
    const ids = group.map(({ finding_id }) => finding_id);
    const more = ids.length > MAX_IDS ? ` +${ids.length - MAX_IDS}` : '';
    return [`${ids.slice(0, MAX_IDS).join(', ')}${more}`, reason];
  });
  return [formatTable(['skipped', 'reason'], rows, style)];
}

function formatApproval({ approvals }: Plan, doubts: readonly (string | undefined)[]): string {
  if (approvals.length === 0) return 'not approved';
  return approvals
    .map(({ by, at, irreversible, signature }, index) => {
      const doubt = doubts[index];
      if (doubt !== undefined) return `the approval by ${by} does not count: ${doubt}`;
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

export function formatApplyResult(applied: ApplyResult, { actions }: Plan, style: TableStyle): string {
  const { rows, left_unconfirmed: left, stopped } = applied;
  const summaries = new Map(actions.map(({ action_id, summary }) => [action_id, summary]));
  const lines = rows.map(({ action_id, status, reason }) => [action_id, status, summaries.get(action_id), reason]);
  const labels = ['id', 'status', 'action', 'reason'];
  const table = formatTable(labels, lines, { ...style, wholeColumns: ['id'] });
  const remaining = actions.length - rows.length - left;
  const others = [
    ...(left > 0 ? [`${left} still unconfirmed`] : []),
    ...(remaining > 0 ? [`${remaining} not reached`] : []),
  ];
  const counts = [...countStatuses(rows), ...others].join(', ');
  const end = stopped ? `; stopped: ${clean(stopped.reason)}` : '';
  return `${lines.length === 0 ? 'no actions were applied\n' : table}\n${counts}${end}\n`;
}

/** One line for a plan whose actions all have a final outcome. */
export function formatFinished({ plan_id, rows }: ApplyResult): string {
  return `plan ${plan_id} is finished, nothing to do: ${countStatuses(rows).join(', ')}\n`;
}

function countStatuses(rows: ApplyResult['rows']): readonly string[] {
  return [...groupBy(rows, ({ status }) => status)].map(([status, group]) => `${group.length} ${status}`);
}

/** Each action of a plan with its API call, and the difference that the call makes. */
export function formatActions(
  plan: Plan,
  playbooks: readonly Playbook[],
  config: Config,
  { colors, redactor }: Pick<Context, 'colors' | 'redactor'>,
): string {
  return plan.actions
    .map((action) => {
      const definition = ask(() => matchDefinition(plan, action, playbooks));
      const call = formatCall(action, config, redactor);
      const difference = formatChange(describeChange(action, definition), colors);
      const lines = [...call, ...difference].map((line) => `  ${line}\n`);
      return `${clean(`${action.action_id}: ${action.summary}`)}\n${redactor.text(lines.join(''))}`;
    })
    .join('\n');
}

/** Method and URL as they are sent, and the body with its secrets masked. */
function formatCall(action: Action, config: Config, redactor: Redactor): readonly string[] {
  const target = config.targets.find(({ name }) => name === action.target);
  if (!target) return [`${action.operation} of target ${clean(action.target)}, which is not configured`];
  const operation = getOperation(action.operation);
  collectSecrets(operation, action.params, action.body, redactor);
  const parts = { args: action.params, body: action.body, write: true };
  const { method, url, body } = buildRequest(operation, target, parts);
  const shown = body === undefined ? [] : JSON.stringify(JSON.parse(body), maskSecret, 2).split('\n');
  return [`${method} ${clean(url.href)}`, ...bounded(shown.map(clean), String)];
}

function maskSecret(name: string, value: unknown): unknown {
  return isSecretField(name) && value !== null ? '***' : value;
}

function masked(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null, maskSecret)) as unknown;
}

/** Where the playbook does not declare it: what is deleted is as the plan was made on. */
function describeChange(action: Action, definition: ActionDefinition | string): Change | undefined {
  const isKnown = typeof definition === 'object';
  const declared = isKnown && ask(() => definition.change?.(definition.schema.parse(action.guard.inputs)));
  if (declared) return declared;
  return getOperation(action.operation).method === 'DELETE' ? { before: action.guard.inputs, after: null } : undefined;
}

function formatChange(change: Change | undefined, colors: Colors): readonly string[] {
  if (!change) return ['what changes: see the body; the playbook does not declare it'];
  const lines = diffValues(masked(change.before), masked(change.after)).map((line) => paintLine(line, colors));
  return bounded(lines, String);
}
