import { resolve } from 'node:path';
import { applyExitCode, applyPlan, findFinishedResult } from '../act/apply.ts';
import { approvalStatement, approvePlan, assertApprovable, isPlanner } from '../act/approvals.ts';
import type { Playbook } from '../act/define.ts';
import { ledgerFile, toLedgerRow } from '../act/ledger.ts';
import { assertAfterLedger } from '../act/ledger-file.ts';
import { acceptLedger, readLedger, restoreLedger, verifyLedger } from '../act/ledger-table.ts';
import { createPlan } from '../act/plan.ts';
import { type Plan, readPlan, writePlan } from '../act/plan-file.ts';
import { findPlanFile, keepPlan, setPlanAside } from '../act/plan-store.ts';
import { getPlaybook, loadPlaybooks } from '../act/registry.ts';
import { settleLedger } from '../act/settle-ledger.ts';
import { createUndoPlan } from '../act/undo.ts';
import type { Config } from '../config/config.ts';
import { DEFAULT_LIMITS } from '../core/choices.ts';
import type { Context } from '../core/context.ts';
import { EXIT, TidemarkError } from '../core/errors.ts';
import { plural } from '../core/plural.ts';
import { loadDefinitions } from '../run/plugins/index.ts';
import { assertTargets, readConfig, readLocalConfig } from './options.ts';
import { formatTime, writeResult } from './output.ts';
import {
  formatApplyResult,
  formatFinished,
  formatLedger,
  formatPlan,
  formatPlaybooks,
  formatVerified,
  toPlaybookRow,
} from './playbook-output.ts';
import { formatActions } from './playbook-show.ts';
import { obtainSignature } from './sign-approval.ts';

export interface PlanFlags {
  readonly output?: string;
  readonly maxActions: number;
  readonly maxPercent?: number;
  readonly target: readonly string[];
  readonly finding: readonly string[];
  readonly subject: readonly string[];
  readonly limit?: number;
}

export interface ApproveFlags {
  readonly by: string;
  readonly irreversible?: boolean;
  readonly print?: boolean;
  readonly key?: string;
  readonly signature?: string;
}

export async function list(context: Context): Promise<void> {
  const { playbooks } = await preparePlaybooks(context);
  writeResult(context, playbooks.map(toPlaybookRow), () => formatPlaybooks(playbooks, context));
}

export async function plan(context: Context, name: string, options: PlanFlags): Promise<void> {
  await withOutput(context, options.output, async () => {
    const { config, playbooks } = await preparePlaybooks(context);
    const targets = assertTargets(config, options.target);
    const { maxActions, maxPercent, finding: findings, subject: subjects, limit } = options;
    const isChosen = findings.length + subjects.length > 0 || limit !== undefined;
    const { plan: created, exceeded } = await createPlan({
      config,
      context,
      playbook: getPlaybook(playbooks, name),
      limits: maxPercent === undefined ? { ...DEFAULT_LIMITS, maxActions } : { maxActions, maxPercent, minRows: 0 },
      ...(targets.length > 0 && { targets }),
      ...(isChosen && { choice: { findings, subjects, ...(limit !== undefined && { limit }) } }),
    });
    if (exceeded !== null) {
      throw new TidemarkError('UNSAFE', `no plan was made: ${exceeded}`, {
        hint: 'plan the worst of them with --limit, or some with --finding, --subject or --target; raise the limit if this is intended',
      });
    }
    await writeNewPlan(config, context, created, options.output);
  });
}

/** Makes sure that `output` holds no earlier plan where `create` fails, and that no approved plan is overwritten. */
async function withOutput(context: Context, output: string | undefined, create: () => Promise<void>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (output !== undefined) await setOutputAside(context, output, () => false);
    throw error;
  }
}

async function setOutputAside(context: Context, output: string, isKept: (plan: Plan) => boolean): Promise<void> {
  const file = resolve(context.cwd, output);
  const aside = await setPlanAside(file, isKept);
  if (aside !== undefined) context.log.warn(`${output} held an earlier plan, which is now in ${aside}`);
}

/** Keeps a new plan, and writes it to a file as well if the user names one. */
async function writeNewPlan(
  config: Config,
  context: Context,
  created: Plan,
  output: string | undefined,
): Promise<void> {
  await keepPlan(config, created);
  if (output !== undefined) {
    await setOutputAside(context, output, ({ approvals }) => approvals.length === 0);
    await writePlan(resolve(context.cwd, output), created);
  }
  writeResult(context, created, () => formatPlan(created, context));
  const { plan_id, actions } = created;
  const where = output === undefined ? '' : ` and written to ${output}`;
  context.log.info(`plan ${plan_id} is kept in ${config.data}/plans${where}`);
  const remaining = created.selection?.remaining ?? 0;
  if (remaining > 0)
    context.log.info(`${plural(remaining, 'finding')} of ${created.playbook} remain, which were not selected`);
  if (actions.length === 0) return;
  context.log.info(
    `review it with \`tidemark playbook show ${plan_id}\`, then approve it with \`tidemark playbook approve ${plan_id}${listApproval(config, created)}\``,
  );
}

/** What `approve` demands for this plan. */
function listApproval({ approvers }: Config, plan: Plan): string {
  const people = approvers?.people.filter((person) => !isPlanner(person, plan));
  const by = approvers ? `"${people?.[0]?.name ?? 'NAME'}" --key FILE` : 'NAME';
  return ` --by ${by}${plan.actions.some(({ irreversible }) => irreversible) ? ' --irreversible' : ''}`;
}

export interface UndoFlags {
  readonly output?: string;
  readonly acceptDays: number;
}

export async function undo(context: Context, reference: string, { output, acceptDays }: UndoFlags): Promise<void> {
  await withOutput(context, output, async () => {
    const { config, playbooks } = await preparePlaybooks(context);
    const undone = await readPlan(await findPlanFile(config, context.cwd, reference));
    const created = await createUndoPlan(undone, { config, context, playbooks, acceptDays });
    await writeNewPlan(config, context, created, output);
    if (created.skipped.length > 0) context.exit(EXIT.incomplete);
  });
}

export async function show(context: Context, reference: string): Promise<void> {
  const { config, playbooks } = await preparePlaybooks(context);
  const shown = await readPlan(await findPlanFile(config, context.cwd, reference));
  const entries = await readLedger(config);
  const details = () => formatActions(shown, playbooks, config, context);
  writeResult(context, shown, () => formatPlan(shown, context, { entries, details: details() }));
}

export async function approve(context: Context, reference: string, flags: ApproveFlags): Promise<void> {
  const config = readConfig(context);
  await assertAfterLedger(config.data, context.clock);
  const file = await findPlanFile(config, context.cwd, reference);
  const { by, irreversible = false } = flags;
  const options = { config, by, irreversible, now: context.clock.now() };
  const given = await readPlan(file);
  assertApprovable(given, options);
  const statement = approvalStatement(given, { by: by.trim(), irreversible });
  if (flags.print) return context.stdout(statement);
  const signature = await obtainSignature(context, flags, statement);
  const approved = await approvePlan(file, { ...options, ...(signature !== undefined && { signature }) });
  await keepPlan(config, approved);
  const { plan_id, actions, approvals, expires_at } = approved;
  writeResult(
    context,
    { plan_id, actions: actions.length, approvals, expires_at },
    () =>
      `plan ${plan_id} with ${plural(actions.length, 'action')} is approved by ${approvals.map((each) => each.by).join(', ')}; valid until ${formatTime(expires_at)}\n`,
  );
  context.log.info(`apply it with \`tidemark playbook apply ${plan_id}\``);
}

export async function apply(context: Context, reference: string, maxFailures: number): Promise<void> {
  const { config, playbooks } = await preparePlaybooks(context);
  const approved = await readPlan(await findPlanFile(config, context.cwd, reference));
  const finished = await findFinishedResult(approved, config);
  if (finished) {
    writeResult(context, finished, () => formatFinished(finished));
    return context.exit(applyExitCode(finished, approved));
  }
  const applied = await applyPlan(approved, { config, context, maxFailures, playbooks });
  writeResult(context, applied, () => formatApplyResult(applied, approved, context));
  if (applied.stopped) context.log.warn(`stopped: ${applied.stopped.reason}`);
  context.exit(applyExitCode(applied, approved));
}

export interface LedgerFlags {
  readonly plan?: string;
  readonly settle?: boolean;
  readonly restore?: boolean;
  readonly accept?: boolean;
}

/** The configuration and all playbooks, which are validated before any is used. */
async function preparePlaybooks(
  context: Context,
): Promise<{ readonly config: Config; readonly playbooks: readonly Playbook[] }> {
  const config = readConfig(context);
  const { playbooks } = await loadDefinitions(config);
  return { config, playbooks: await loadPlaybooks(config, playbooks) };
}

export async function ledger(context: Context, { plan: planId, settle, restore, accept }: LedgerFlags) {
  if (restore && accept) throw new TidemarkError('USAGE', '--restore and --accept cannot be used together');
  const { config, playbooks } = await preparePlaybooks(context);
  if (restore) context.log.info(`the ledger is restored: ${plural(await restoreLedger(config, context), 'action')}`);
  if (accept) context.log.info(`the ledger is accepted: ${plural(await acceptLedger(config, context), 'action')}`);
  if (settle) {
    const settled = await settleLedger({ config, context, playbooks, planId });
    if (settled.some(({ status }) => status === 'unconfirmed')) context.exit(EXIT.incomplete);
  }
  const rows = (await readLedger(config))
    .map(toLedgerRow)
    .filter(({ plan_id }) => planId === undefined || plan_id === planId);
  writeResult(context, rows, () => formatLedger(rows, context));
}

/** Says what is wrong with the ledger, and where. It reads only, also while a plan is applied. */
export async function verify(context: Context): Promise<void> {
  const config = readLocalConfig(context);
  const { scan, seen, problems } = await verifyLedger(config);
  const result = { ledger: ledgerFile(config.data), ...scan.head, seen: seen.head ?? null, problems };
  writeResult(context, result, () => formatVerified(result, context));
  if (problems.length > 0) context.exit(EXIT.data);
}
