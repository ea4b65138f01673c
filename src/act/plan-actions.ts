import { z } from 'zod';
import type { Config, Target } from '../config/config.ts';
import type { PlanLimits } from '../core/choices.ts';
import type { WorkContext } from '../core/context.ts';
import { formatError, TidemarkError } from '../core/errors.ts';
import { ServiceError } from '../http/errors.ts';
import { withRequiredSize } from '../services/paged-list.ts';
import { validateRequest } from '../services/validate-request.ts';
import type { ActionDefinition, ParameterSources, PlanContext, PlannedAction, Playbook } from './define.ts';
import type { Action, Plan } from './plan-file.ts';
import { getOperation, isReversibleAction } from './registry.ts';
import type { RemoteServices } from './remote.ts';
import type { FindingSelection, PlanCandidate } from './select-findings.ts';

/** What planning works with. */
export interface PlanDeps {
  readonly config: Config;
  readonly context: WorkContext;
  readonly remote: RemoteServices;
  /** Runs a query in `queries/remediation/`. */
  readonly query: (
    name: string,
    params: Readonly<Record<string, string>>,
  ) => Promise<readonly Readonly<Record<string, unknown>>[]>;
  readonly now: Date;
  /** Findings to plan actions for. */
  readonly limit?: number | undefined;
}

export type NewAction = Omit<Action, 'action_id'>;

export interface PlannedActions {
  readonly actions: readonly NewAction[];
  /** IDs of the affected rows, by target. */
  readonly affected: ReadonlyMap<string, ReadonlySet<string>>;
  readonly skipped: Plan['skipped'];
  /** Findings that may be acted on, and that were not chosen. */
  readonly remaining: number;
}

/** Plans the worst findings first, until there are actions for `limit` of them. */
export async function planActions(
  playbook: Playbook,
  selection: FindingSelection,
  deps: PlanDeps,
): Promise<PlannedActions> {
  const actions: NewAction[] = [];
  const affected = new Map<string, Set<string>>();
  const skipped = [...selection.skipped];
  const { limit = selection.candidates.length } = deps;
  let [plannedFindings, tried] = [0, 0];
  for (const findings of groupFindings(playbook, selection.candidates, limit)) {
    if (plannedFindings >= limit) break;
    tried += findings.length;
    const target = deps.config.targets.find(({ name }) => name === findings[0]?.target);
    if (!target) continue;
    const planned = await planGroup(playbook, findings, target, deps);
    if (typeof planned === 'string') {
      skipped.push(...findings.map(({ finding_id }) => ({ finding_id, reason: planned })));
      continue;
    }
    plannedFindings += planned.length > 0 ? findings.length : 0;
    const rows = affected.get(target.name) ?? new Set();
    affected.set(target.name, rows);
    for (const { action, affectedRows } of planned) {
      actions.push(action);
      for (const row of affectedRows) rows.add(row);
    }
  }
  return { actions, affected, skipped, remaining: selection.remaining + selection.candidates.length - tried };
}

/** The findings that are planned together. */
function groupFindings(
  { perTarget }: Playbook,
  candidates: readonly PlanCandidate[],
  limit: number,
): readonly (readonly PlanCandidate[])[] {
  if (!perTarget) return candidates.map((finding) => [finding]);
  const chosen = candidates.slice(0, limit);
  const targets = [...new Set(chosen.map(({ target }) => target))];
  return targets.map((target) => chosen.filter((finding) => finding.target === target));
}

interface PlannedRow {
  readonly action: NewAction;
  readonly affectedRows: readonly string[];
}

/** The validated actions of one group of findings, or the reason why there are none. */
async function planGroup(
  playbook: Playbook,
  findings: readonly PlanCandidate[],
  target: Target,
  { config, context, remote, query, now }: PlanDeps,
): Promise<readonly PlannedRow[] | string> {
  const planContext: PlanContext = {
    target,
    now,
    thresholds: config.thresholds,
    read: (operation, args, options) =>
      remote.read(target.name, operation, args as Readonly<Record<string, unknown>>, options),
    query: (name, params) => query(name, { ...params, target: target.name }),
  };
  try {
    const planned = await playbook.plan(findings, planContext);
    if ('skip' in planned) return planned.skip;
    return planned.map((action) => ({
      action: buildAction(action, findings, target),
      affectedRows: affectedRows(action, findings),
    }));
  } catch (error) {
    const isReason = error instanceof TidemarkError || error instanceof z.ZodError;
    if (!isReason || context.signal.aborted) throw error;
    const reason = context.redactor.text(explainError(error));
    if (error instanceof ServiceError) context.log.warn(`${findings[0]?.title}: not planned: ${reason}`);
    return reason;
  }
}

function affectedRows({ affectedRow }: PlannedAction, findings: readonly PlanCandidate[]): readonly string[] {
  if (affectedRow === undefined) return findings.map(({ subject_id }) => subject_id);
  return affectedRow === null ? [] : [affectedRow];
}

function explainError(error: unknown): string {
  if (!(error instanceof z.ZodError)) return formatError(error);
  const [issue] = error.issues;
  return `the finding has no valid ${issue?.path.join('.') ?? 'detail'}: ${issue?.message ?? ''}`;
}

/**
 * An action as the plan stores it, with its calls validated like any other.
 * @throws TidemarkError USAGE when a call is not valid; ZodError when an input is missing.
 */
export function buildAction(
  { action: definition, inputs: given, summary }: PlannedAction,
  findings: readonly PlanCandidate[],
  target: Target,
  { isUndo = false } = {},
): NewAction {
  const [first] = findings;
  if (!first) throw new TidemarkError('USAGE', 'an action needs a finding');
  const { params, body, guard } = deriveCall(definition, given);
  const operation = getOperation(definition.operation);
  validateRequest(operation, target, params, body, NO_LOG);
  for (const read of Object.values(guard.reads)) validateRead(read, target);
  return {
    operation: operation.name,
    target: target.name,
    params,
    ...(body !== undefined && { body }),
    finding_id: first.finding_id,
    ...(findings.length > 1 && { finding_ids: findings.map(({ finding_id }) => finding_id) }),
    subject_name: findings.length > 1 ? null : first.subject_name,
    summary,
    why: findings.length > 1 ? `${findings.length} findings, the oldest: ${first.title}` : first.title,
    since: first.since,
    guard,
    ...(!isReversibleAction(definition, isUndo) && { irreversible: true as const }),
  };
}

/** The arguments come from the warehouse: the user cannot act on warnings about them. */
const NO_LOG = { info: () => {}, warn: () => {}, error: () => {} };

function validateRead({ operation: name, params, allPages }: Action['guard']['reads'][string], target: Target): void {
  const operation = getOperation(name);
  const sent = allPages ? withRequiredSize(operation, target, params) : params;
  validateRequest(operation, target, sent, undefined, NO_LOG);
}

/**
 * What an action sends and reads. Both follow from its inputs alone, so that it acts on the subject that its guard reads.
 * @throws ZodError when an input is missing.
 */
export function deriveCall(definition: ActionDefinition, given: unknown): Pick<Action, 'params' | 'body' | 'guard'> {
  const inputs = definition.parseInputs(given);
  const body = definition.buildBody(inputs);
  const reads = Object.entries(definition.reads).map(([name, { params, absence: _, ...read }]) => [
    name,
    { ...read, params: resolveParams(params, inputs) },
  ]);
  return {
    params: resolveParams(definition.params, inputs),
    ...(body !== undefined && { body: z.json().parse(body) }),
    guard: { reads: Object.fromEntries(reads), inputs: z.record(z.string(), z.json()).parse(inputs) },
  };
}

/** The values of parameters; an input that is null is left out. */
export function resolveParams(sources: ParameterSources, inputs: Readonly<Record<string, unknown>>): Action['params'] {
  const values = Object.entries(sources).map(([name, source]) => [
    name,
    typeof source === 'string' ? inputs[source] : source.is,
  ]);
  return Object.fromEntries(values.filter(([, value]) => value !== null && value !== undefined));
}

/** `rowCounts`: the rows of the table, one per target. */
export function countAffected(
  table: string,
  affected: PlannedActions['affected'],
  rowCounts: readonly Readonly<Record<string, unknown>>[],
): readonly AffectedRows[] {
  return [...affected]
    .filter(([, rows]) => rows.size > 0)
    .map(([target, { size: rows }]) => {
      const total = Number(rowCounts.find((row) => row.target === target)?.rows ?? 0);
      return { target, table, rows, total };
    });
}

/** How many rows of a table a plan affects in one target. */
interface AffectedRows {
  readonly target: string;
  readonly table: string;
  readonly rows: number;
  readonly total: number;
}

/** A table without rows was never pulled, so no row may be affected. */
function isExceeded({ rows, total }: AffectedRows, { maxPercent, minRows }: PlanLimits): boolean {
  return rows * 100 > total * maxPercent && (total === 0 || rows > minRows);
}

/** Every limit that a plan exceeds; null where it exceeds none. */
export function explainLimits(limits: PlanLimits, actions: number, affected: readonly AffectedRows[]): string | null {
  const exceeded = [
    ...(actions > limits.maxActions ? [`${actions} actions are more than --max-actions ${limits.maxActions}`] : []),
    ...affected
      .filter((each) => isExceeded(each, limits))
      .map(({ target, table, rows, total }) => {
        const percent = total === 0 ? 'all' : `${((rows * 100) / total).toFixed(1)} %`;
        return `${rows} of ${total} rows of ${table} in ${target} are ${percent}, more than --max-percent ${limits.maxPercent}`;
      }),
  ];
  return exceeded.length === 0 ? null : exceeded.join('; ');
}
