import { randomBytes } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { z } from 'zod';
import { getTarget } from '../config/config.ts';
import { DEFAULT_MAX_FAILURES, type PlanLimits } from '../core/choices.ts';
import { formatCompact, HOUR_MS } from '../core/clock.ts';
import { TidemarkError } from '../core/errors.ts';
import { groupBy } from '../core/group-by.ts';
import { type FailureKind, ServiceError } from '../http/errors.ts';
import { type OpenWarehouse, type Warehouse, withPublished } from '../warehouse/session.ts';
import { quoteIdent } from '../warehouse/sql-files.ts';
import { toJsonParam } from '../warehouse/sql-params.ts';
import { buildAction, explainInvalid, type NewAction, type PlanCandidate } from './action-call.ts';
import type { Playbook } from './define.ts';
import { assertAfterLedger } from './ledger-file.ts';
import { findUnfit } from './observe-action.ts';
import { type Plan, planDigest } from './plan-file.ts';
import { describeTargets, ensureWarehouseId, identifyPublished } from './plan-targets.ts';
import { askForPlan, PlaybookFault, toFault } from './playbook-fault.ts';
import { type Acting, type RemoteServices, withServices } from './remote.ts';
import { type SelectOptions, selectFindings } from './select-findings.ts';

interface PlanOptions extends Acting, SelectOptions {
  readonly limits: PlanLimits;
  /** The job that plans. @default a person's command */
  readonly job?: string;
  /** The working warehouse of a run in progress, before it is published. @default the published one */
  readonly warehouse?: Warehouse;
}

/**
 * Plans what a playbook would do about its findings. It reads the services and changes nothing on them. `exceeded` has every limit that
 * the plan exceeds; null where it exceeds none.
 */
export async function createPlan(options: PlanOptions) {
  const { config, context, warehouse } = options;
  await assertAfterLedger(config.data, context.clock);
  if (warehouse) return planFrom(warehouse, await ensureWarehouseId(warehouse), options);
  const warehouseId = await identifyPublished(options); // it may publish a migrated file
  return withPublished(config, (published) => planFrom(published, warehouseId, options));
}

async function planFrom(warehouse: OpenWarehouse, warehouseId: string, options: PlanOptions) {
  const { database, files } = warehouse;
  const { config, context, playbook, limits, choice, job } = options;
  const now = context.clock.now();
  const { candidates, skipped, remaining } = await selectFindings(warehouse, options, now);
  return withServices(options, async (remote) => {
    const deps = { config, context, remote, now, warehouse, limit: choice?.limit ?? null };
    const { rows, refused, untried } = await planActions(playbook, candidates, deps);
    const [run] = await database.rows(files.read('remediation/last_run'));
    const actions = rows.map(({ action }) => action);
    const plan = await buildPlan(actions, job === undefined ? 'tidemark playbook plan' : nameJob(job), deps, {
      playbook: playbook.name,
      skipped: [...skipped, ...refused],
      run_id: run ? String(run.run_id) : null,
      warehouse_id: warehouseId,
      selection: choice ? { ...choice, remaining: remaining + untried } : null,
    });
    const exceeded = await listExceeded(warehouse, playbook.table, rows, limits);
    return { plan, exceeded: exceeded.join('; ') || null };
  });
}

/** How a job plans, as its plans have it. */
export function nameJob(job: string): string {
  return `job ${job}`;
}

export async function listExceeded(
  { database, files }: OpenWarehouse,
  table: string,
  rows: readonly PlannedRow[],
  { maxActions, maxPercent, minRows }: PlanLimits,
): Promise<readonly string[]> {
  const affected = rows.flatMap(({ action: { target }, affectedRows }) => affectedRows.map((id) => ({ target, id })));
  const limits = { max_actions: maxActions, max_percent: String(maxPercent), min_rows: minRows };
  const params = { table, actions: rows.length, affected: toJsonParam(affected), ...limits };
  const found = await database.rows(files.render('remediation/exceeded_limits', { table: quoteIdent(table) }), params);
  return found.map(({ problem }) => String(problem));
}

/** A plan with its digest, not approved. `how`: the command or job that plans. */
export async function buildPlan(
  actions: readonly NewAction[],
  how: string,
  { config, remote, now }: Pick<PlanDeps, 'config' | 'remote' | 'now'>,
  given: Pick<Plan, 'playbook' | 'run_id' | 'warehouse_id' | 'undoes' | 'accept_days' | 'selection' | 'skipped'> &
    Partial<Pick<Plan, 'targets'>>,
): Promise<Plan> {
  const { playbook, skipped, targets, ...origin } = given;
  const width = String(actions.length).length;
  const plan = {
    plan_id: `p-${formatCompact(now)}-${randomBytes(4).toString('hex')}`,
    playbook,
    planned_by: { who: `${loginName()}@${hostname()}`, how },
    created_at: now.toISOString(),
    expires_at: new Date(now.getTime() + config.planHours * HOUR_MS).toISOString(),
    ...origin,
    targets: targets ?? (await describeTargets(new Set(actions.map(({ target }) => target)), config, remote)),
    actions: tellApart(actions).map((action, index) => ({
      action_id: `a${String(index + 1).padStart(width, '0')}`,
      ...action,
    })),
    skipped,
  };
  // The digest is over what the file will hold, which has no undefined fields.
  const stored = JSON.parse(JSON.stringify(plan)) as typeof plan;
  return { ...stored, digest: planDigest(stored), approvals: [] };
}

/** Names are not unique, and may differ only in what a terminal does not show: the parameters then follow, encoded as in a URL. */
function tellApart(actions: readonly NewAction[]): readonly NewAction[] {
  const look = ({ summary }: NewAction) =>
    summary.normalize('NFKC').replaceAll(/[\p{C}\p{Default_Ignorable_Code_Point}\s\u2800]+/gu, '');
  const counts = new Map<string, number>();
  for (const action of actions) counts.set(look(action), (counts.get(look(action)) ?? 0) + 1);
  return actions.map((action) => {
    if (counts.get(look(action)) === 1) return action;
    const named = Object.entries(action.params).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    return { ...action, summary: `${action.summary} (${named.join(' ')})` };
  });
}

/** An account without an entry in the system's list, as in a container, has no name. */
function loginName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}

interface PlannedRow {
  readonly action: NewAction;
  readonly affectedRows: readonly string[];
}

export interface PlanDeps extends Acting {
  readonly remote: RemoteServices;
  readonly warehouse: OpenWarehouse;
  readonly now: Date;
  /** Findings to plan actions for. */
  readonly limit: number | null;
}

/** They are about the subject. After any other failure the service may fail for all: to ask it for each could take all night. */
const ANSWERS: readonly FailureKind[] = ['forbidden', 'not-found', 'wrong-mount', 'conflict', 'invalid', 'too-large'];

/** Plans the worst findings first, until there are actions for `limit` of them. `untried`: how many were left then. */
export async function planActions(playbook: Playbook, candidates: readonly PlanCandidate[], deps: PlanDeps) {
  const rows: PlannedRow[] = [];
  /** How often in a row the service of a target had no answer. */
  const unanswered = new Map<string, number>();
  const refused: Plan['skipped'] = [];
  const { perTarget } = playbook;
  const limit = deps.limit ?? candidates.length;
  const groups = groupBy(perTarget ? candidates.slice(0, limit) : candidates, (finding) =>
    perTarget ? finding.target : finding.finding_id,
  );
  let [plannedFindings, tried] = [0, 0];
  for (const findings of groups.values()) {
    if (plannedFindings >= limit) break;
    tried += findings.length;
    const [{ target }] = findings;
    const failures = unanswered.get(target) ?? 0;
    const silence = `${target} had no answer for ${DEFAULT_MAX_FAILURES} findings before it: plan again once it has`;
    const notAsked: Refusal = { reason: `not read: ${silence}`, isUnanswered: true };
    const planned = failures < DEFAULT_MAX_FAILURES ? await planGroup(playbook, findings, deps) : notAsked;
    unanswered.set(target, 'reason' in planned && planned.isUnanswered ? failures + 1 : 0);
    if ('reason' in planned) {
      for (const { finding_id } of findings) refused.push({ finding_id, reason: planned.reason });
    } else {
      plannedFindings += planned.length > 0 ? findings.length : 0;
      rows.push(...planned);
    }
  }
  return { rows, refused, untried: candidates.length - tried };
}

/** Why nothing is planned for findings. `isUnanswered`: the service had no answer. */
interface Refusal {
  readonly reason: string;
  readonly isUnanswered: boolean;
}

/** The validated actions of one group of findings, or the reason why there are none. */
async function planGroup(
  playbook: Playbook,
  findings: readonly [PlanCandidate, ...PlanCandidate[]],
  { config, context, remote, warehouse: { database, files }, now }: PlanDeps,
): Promise<readonly PlannedRow[] | Refusal> {
  const target = getTarget(config, findings[0].target);
  try {
    const planned = await askForPlan(playbook, findings, {
      target,
      now,
      thresholds: config.thresholds,
      read: (operation, args, options) =>
        remote.read(target.name, operation, args as Readonly<Record<string, unknown>>, options),
      query: (name, params) => database.rows(files.read(`remediation/${name}`), { ...params, target: target.name }),
    });
    if ('skip' in planned) return { reason: context.redactor.row(z.string().parse(planned.skip)), isUnanswered: false };
    const subjects = findings.map(({ subject_id }) => subject_id);
    return planned.map(({ affectedRow: row, ...action }) => {
      const affectedRows = row === undefined ? subjects : row === null ? [] : [row];
      const built = buildAction(action, findings, target);
      const unfit = findUnfit(built.guard.inputs, context.redactor);
      if (unfit !== undefined) throw new TidemarkError('DATA', `what was read has ${unfit} that a plan cannot hold`);
      return { action: built, affectedRows };
    });
  } catch (error) {
    if (context.signal.aborted) throw error;
    const known = error instanceof z.ZodError ? error : toFault(error);
    if (known instanceof PlaybookFault) throw known;
    const reason = context.redactor.text(explainInvalid(error, 'the finding'));
    if (error instanceof ServiceError) context.log.warn(`${findings[0].title}: not planned: ${reason}`);
    return { reason, isUnanswered: error instanceof ServiceError && !ANSWERS.includes(error.failure) };
  }
}
