import { z } from 'zod';
import type { Config, Target } from '../config/config.ts';
import type { PlanLimits } from '../core/choices.ts';
import type { WorkContext } from '../core/context.ts';
import { formatError, TidemarkError } from '../core/errors.ts';
import { ServiceError } from '../http/errors.ts';
import { buildAction, type NewAction, type PlanCandidate } from './action-call.ts';
import type { PlanContext, Playbook } from './define.ts';
import type { Plan } from './plan-file.ts';
import type { RemoteServices } from './remote.ts';

export interface FindingSelection {
  /** The worst first. */
  readonly candidates: readonly PlanCandidate[];
  readonly skipped: Plan['skipped'];
  /** Findings that may be acted on, and that were not chosen. */
  readonly remaining: number;
}

/** What planning works with. */
export interface PlanDeps {
  readonly config: Config;
  readonly context: WorkContext;
  readonly remote: RemoteServices;
  /** Runs a query in `queries/remediation/`. */
  readonly query: (name: string, params: Readonly<Record<string, string>>) => ReturnType<PlanContext['query']>;
  readonly now: Date;
  /** Findings to plan actions for. */
  readonly limit: number | undefined;
}

/** An action, and the IDs of the rows that it affects. */
interface PlannedRow {
  readonly action: NewAction;
  readonly affectedRows: readonly string[];
}

interface PlannedActions extends Omit<FindingSelection, 'candidates'> {
  readonly rows: readonly PlannedRow[];
}

/** Plans the worst findings first, until there are actions for `limit` of them. */
export async function planActions(
  playbook: Playbook,
  { candidates, skipped, remaining }: FindingSelection,
  deps: PlanDeps,
): Promise<PlannedActions> {
  const rows: PlannedRow[] = [];
  const reasons = [...skipped];
  const { limit = candidates.length } = deps;
  let [plannedFindings, tried] = [0, 0];
  for (const findings of groupFindings(playbook, candidates, limit)) {
    if (plannedFindings >= limit) break;
    tried += findings.length;
    const target = deps.config.targets.find(({ name }) => name === findings[0]?.target);
    const planned = target ? await planGroup(playbook, findings, target, deps) : [];
    if (typeof planned === 'string') {
      for (const { finding_id } of findings) reasons.push({ finding_id, reason: planned });
    } else {
      plannedFindings += planned.length > 0 ? findings.length : 0;
      rows.push(...planned);
    }
  }
  return { rows, skipped: reasons, remaining: remaining + candidates.length - tried };
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

/** The validated actions of one group of findings, or the reason why there are none. */
async function planGroup(
  playbook: Playbook,
  findings: readonly PlanCandidate[],
  target: Target,
  { config, context, remote, query, now }: PlanDeps,
): Promise<readonly PlannedRow[] | string> {
  const subjects = findings.map(({ subject_id }) => subject_id);
  try {
    const planned = await playbook.plan(findings, {
      target,
      now,
      thresholds: config.thresholds,
      read: (operation, args, options) =>
        remote.read(target.name, operation, args as Readonly<Record<string, unknown>>, options),
      query: (name, params) => query(name, { ...params, target: target.name }),
    });
    if ('skip' in planned) return planned.skip;
    return planned.map((action) => {
      const { affectedRow } = action;
      const affectedRows = affectedRow === undefined ? subjects : affectedRow === null ? [] : [affectedRow];
      return { action: buildAction(action, findings, target), affectedRows };
    });
  } catch (error) {
    const isReason = error instanceof TidemarkError || error instanceof z.ZodError;
    if (!isReason || context.signal.aborted) throw error;
    const reason = context.redactor.text(explainError(error));
    if (error instanceof ServiceError) context.log.warn(`${findings[0]?.title}: not planned: ${reason}`);
    return reason;
  }
}

function explainError(error: unknown): string {
  if (!(error instanceof z.ZodError)) return formatError(error);
  const [issue] = error.issues;
  return `the finding has no valid ${issue?.path.join('.') ?? 'detail'}: ${issue?.message ?? ''}`;
}

/** `totals`: the rows of the table, one per target. */
export function countAffected(
  table: string,
  planned: readonly PlannedRow[],
  totals: readonly Readonly<Record<string, unknown>>[],
): readonly AffectedRows[] {
  const targets = [...new Set(planned.map(({ action }) => action.target))];
  return targets.flatMap((target) => {
    const own = planned.filter(({ action }) => action.target === target);
    const rows = new Set(own.flatMap(({ affectedRows }) => affectedRows)).size;
    const total = Number(totals.find((row) => row.target === target)?.rows ?? 0);
    return rows > 0 ? [{ target, table, rows, total }] : [];
  });
}

/** How many rows of a table a plan affects in one target. */
interface AffectedRows {
  readonly target: string;
  readonly table: string;
  readonly rows: number;
  readonly total: number;
}

/** Every limit that a plan exceeds; null where it exceeds none. A table without rows was never pulled, so no row may be affected. */
export function explainLimits(
  { maxActions, maxPercent, minRows }: PlanLimits,
  actions: number,
  affected: readonly AffectedRows[],
): string | null {
  const exceeded = affected
    .filter(({ rows, total }) => rows * 100 > total * maxPercent && (total === 0 || rows > minRows))
    .map(({ target, table, rows, total }) => {
      const percent = total === 0 ? 'all' : `${((rows * 100) / total).toFixed(1)} %`;
      return `${rows} of ${total} rows of ${table} in ${target} are ${percent}, more than --max-percent ${maxPercent}`;
    });
  if (actions > maxActions) exceeded.unshift(`${actions} actions are more than --max-actions ${maxActions}`);
  return exceeded.length === 0 ? null : exceeded.join('; ');
}
