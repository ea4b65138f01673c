import { randomBytes } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import type { Config } from '../config/config.ts';
import type { PlanLimits } from '../core/choices.ts';
import { HOUR_MS } from '../core/clock.ts';
import type { WorkContext } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { findRule, readRules } from '../tell/findings/rules.ts';
import { type Warehouse, withPublished } from '../warehouse/session.ts';
import type { NewAction, PlanCandidate } from './action-call.ts';
import type { Playbook } from './define.ts';
import { assertAfterLedger } from './ledger-file.ts';
import { readLedger } from './ledger-table.ts';
import { explainUnsettled, findUnsettledActions } from './other-plans.ts';
import { countAffected, explainLimits, type FindingSelection, type PlanDeps, planActions } from './plan-actions.ts';
import { type Plan, planDigest } from './plan-file.ts';
import { describeTargets } from './plan-targets.ts';
import { ensureWarehouseId, identifyPublished } from './published-reads.ts';
import { RemoteServices } from './remote.ts';

/** Which of a rule's findings to plan: those of these IDs and of these subjects, or all, and not more than so many. */
interface FindingChoice {
  readonly findings: readonly string[];
  /** Names or IDs. */
  readonly subjects: readonly string[];
  readonly limit?: number;
}

export interface PlanOptions {
  readonly config: Config;
  readonly context: WorkContext;
  readonly playbook: Playbook;
  readonly limits: PlanLimits;
  /** @default every configured target */
  readonly targets?: readonly string[];
  /** @default every finding of the rule */
  readonly choice?: FindingChoice;
  /** Findings that are skipped, with the reason. */
  readonly excluded?: ReadonlyMap<string, string>;
  /** The job that plans. @default a person's command */
  readonly job?: string;
  /** The working warehouse of a run in progress, before it is published. @default the published one */
  readonly warehouse?: Warehouse;
}

export interface NewPlan {
  readonly plan: Plan;
  /** Every limit that it exceeds; null where it exceeds none. */
  readonly exceeded: string | null;
}

/** Plans what a playbook would do about its findings. It reads the services and changes nothing on them. */
export async function createPlan(options: PlanOptions): Promise<NewPlan> {
  const { config, context, warehouse } = options;
  await assertAfterLedger(config.data, context.clock);
  if (warehouse) return planFrom(warehouse, await ensureWarehouseId(warehouse), options);
  const warehouseId = await identifyPublished(config, context);
  return withPublished(config, (published) => planFrom(published, warehouseId, options));
}

async function planFrom(
  warehouse: Pick<Warehouse, 'database' | 'files'>,
  warehouseId: string,
  options: PlanOptions,
): Promise<NewPlan> {
  const { database, files } = warehouse;
  const { config, context, playbook, limits, choice, job } = options;
  const now = context.clock.now();
  const selection = await selectFindings(warehouse, options, now);
  const remote = new RemoteServices(config, context, context.signal);
  try {
    const deps = { config, context, remote, now };
    const { rows, skipped, remaining } = await planActions(playbook, selection, {
      ...deps,
      query: async (name, params) => database.rows(files.read(`remediation/${name}`), params),
      limit: choice?.limit,
    });
    const totals = await database.rows(files.render('remediation/row_counts', { table: playbook.table }));
    const [run] = await database.rows(files.read('remediation/last_run'));
    const actions = rows.map(({ action }) => action);
    const plan = await buildPlan(actions, job === undefined ? 'tidemark playbook plan' : `job ${job}`, deps, {
      playbook: playbook.name,
      skipped,
      run_id: run ? String(run.run_id) : null,
      warehouse_id: warehouseId,
      selection: choice ? describeChoice(choice, remaining) : null,
    });
    return { plan, exceeded: explainLimits(limits, actions.length, countAffected(playbook.table, rows, totals)) };
  } finally {
    await remote.close();
  }
}

function describeChoice({ findings, subjects, limit }: FindingChoice, remaining: number): Plan['selection'] {
  return { findings: [...findings], subjects: [...subjects], limit: limit ?? null, remaining };
}

type PlanFields = Pick<
  Plan,
  'playbook' | 'run_id' | 'warehouse_id' | 'undoes' | 'accept_days' | 'selection' | 'skipped'
>;

/** A plan with its digest, not approved. `how`: the command or job that plans. */
export async function buildPlan(
  actions: readonly NewAction[],
  how: string,
  { config, remote, now }: Pick<PlanDeps, 'config' | 'remote' | 'now'>,
  { playbook, skipped, ...origin }: PlanFields,
): Promise<Plan> {
  const width = String(actions.length).length;
  const plan = {
    plan_id: `p-${now.toISOString().replaceAll(/[-:]/gu, '').slice(0, 15)}Z-${randomBytes(4).toString('hex')}`,
    playbook,
    planned_by: { who: `${loginName()}@${hostname()}`, how },
    created_at: now.toISOString(),
    expires_at: new Date(now.getTime() + config.planHours * HOUR_MS).toISOString(),
    ...origin,
    targets: await describeTargets(new Set(actions.map(({ target }) => target)), config, remote),
    actions: actions.map((action, index) => ({ action_id: `a${String(index + 1).padStart(width, '0')}`, ...action })),
    skipped,
  };
  // The digest is over what the file will hold, which has no undefined fields.
  const stored = JSON.parse(JSON.stringify(plan)) as typeof plan;
  return { ...stored, digest: planDigest(stored), approvals: [] };
}

type Candidate = PlanCandidate & { readonly reason: string | null };

/**
 * Splits the chosen findings of a rule into those that may be acted on and those that may not, with the reason.
 * @throws TidemarkError USAGE for a choice that is none of them.
 */
async function selectFindings(
  { database, files }: Pick<Warehouse, 'database' | 'files'>,
  { config, playbook: { rule }, choice, targets, excluded }: PlanOptions,
  now: Date,
): Promise<FindingSelection> {
  // The action of a finding may not be repeated while its outcome is not known.
  const unsettled = await findUnsettledActions(config, await readLedger(config, { database, files }), now);
  const reasons = new Map(excluded);
  for (const action of unsettled) for (const id of action.findingIds) reasons.set(id, explainUnsettled(action));
  const params = {
    rule,
    sources: findRule(readRules(files), rule)?.sources ?? [],
    targets: targets ?? config.targets.map(({ name }) => name),
    now: now.toISOString(),
    stale_hours: config.thresholds.staleHours,
  };
  const rows = (await database.rows(files.read('remediation/findings'), params)) as unknown as Candidate[];
  const chosen = selectChosen(rows, rule, choice);
  const isUsable = ({ reason }: Candidate) => reason === null;
  const usable = chosen.filter(isUsable);
  const skip = ({ finding_id, reason }: Candidate) => ({ finding_id, reason: reason ?? reasons.get(finding_id) ?? '' });
  return {
    candidates: usable.filter(({ finding_id }) => !reasons.has(finding_id)),
    skipped: [...chosen.filter((row) => !isUsable(row)), ...usable.filter((row) => reasons.has(row.finding_id))].map(
      skip,
    ),
    remaining: rows.filter(isUsable).length - usable.length,
  };
}

function selectChosen(rows: readonly Candidate[], rule: string, choice: FindingChoice | undefined) {
  const { findings = [], subjects = [] } = choice ?? {};
  const isFinding = (row: Candidate, ids: readonly string[]) => ids.includes(row.finding_id);
  const isSubject = ({ subject_id, subject_name }: Candidate, names: readonly string[]) =>
    names.includes(subject_id) || (subject_name !== null && names.includes(subject_name));
  const missing = [
    ...findings.filter((id) => !rows.some((row) => isFinding(row, [id]))).map((id) => `--finding ${id}`),
    ...subjects.filter((name) => !rows.some((row) => isSubject(row, [name]))).map((name) => `--subject ${name}`),
  ];
  if (missing.length > 0) {
    throw new TidemarkError('USAGE', `${missing.join(', ')}: no open finding of rule ${rule}`, {
      hint: `list them with \`tidemark findings --rule ${rule}\``,
    });
  }
  if (findings.length + subjects.length === 0) return rows;
  return rows.filter((row) => isFinding(row, findings) || isSubject(row, subjects));
}

/** An account without an entry in the system's list, as in a container, has no name. */
function loginName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}
